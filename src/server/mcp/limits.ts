import { defaultLimits } from '../../lib/config/limits.ts'
import { hostDefaults, type HostLimits } from '../host/limits.ts'
import { httpDefaults } from '../http/limits.ts'
import { resourceDefaults } from '../resources/limits.ts'

/** Bounds of MCP clients, which tests shrink. Sizes in bytes, times in milliseconds. */
export const mcpDefaults = {
  /** A waiting call that asked for progress gets it this often. */
  waitProgressMs: 10_000,
}

export type McpLimits = HostLimits & typeof mcpDefaults

/** The defaults with the given bounds in their place. Limits of users come from `checkLimits`. */
export function resolveMcpLimits(bounds: Partial<McpLimits> = {}): McpLimits {
  const server = { ...httpDefaults, ...resourceDefaults, ...hostDefaults, ...mcpDefaults }
  return { ...defaultLimits, ...server, ...bounds }
}
