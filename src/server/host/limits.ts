import type { Limits } from '../../lib/config/limits.ts'
import type { HttpLimits } from '../http/limits.ts'
import type { ResourceLimits } from '../resources/limits.ts'

/** Bounds of the application, which tests change. Times in milliseconds. */
export const hostDefaults = {
  /** The instance record is touched this often. */
  heartbeatMs: 5000,
}

export type HostLimits = Limits & HttpLimits & ResourceLimits & typeof hostDefaults
