import type { Limits } from '../../lib/config/limits.ts'
import type { HttpLimits } from '../http/limits.ts'
import type { ResourceLimits } from '../resources/limits.ts'

/** Bounds of the application, which tests shrink. Sizes in bytes, times in milliseconds. */
export const hostDefaults = {
  /** The instance record is touched this often. */
  heartbeatMs: 5000,
  /** Open links that have shown their token; further ones are refused. */
  maxLinks: 16,
  /** A link must say hello within this time. */
  linkHelloMs: 5000,
  /** The server pings the application this often. */
  linkPingMs: 10_000,
  /** A link on which nothing arrived for this long is cut. */
  linkSilenceMs: 30_000,
  /** Producers of a lost link stay listed for this long. */
  linkGraceMs: 60_000,
  /** Messages that the application has not taken before its link is closed. */
  maxLinkBacklogBytes: 8 * 1024 * 1024,
  /** The application must answer a read within this time. */
  linkReadMs: 5000,
  /** The application must bring a picture of itself within this time. */
  linkCaptureMs: 8000,
}

export type HostLimits = Limits & HttpLimits & ResourceLimits & typeof hostDefaults
