import { defaultLimits } from '../../lib/config/limits.ts'
import { sceneDefaults } from '../resources/scene/state.ts'

/** The bounds of all servers: those of users, and what tests shrink. Bytes and milliseconds. */
export const serverDefaults = {
  ...defaultLimits,
  ...sceneDefaults,
  /** A body must make progress within this time. */
  bodyTimeoutMs: 30_000,
  /** The header block must be complete after this. */
  headersTimeoutMs: 10_000,
  /** Bytes waiting on one event stream before its updates are dropped. */
  maxStreamBufferBytes: 64 * 1024,
  /** A stream whose reader took nothing for this long is closed. */
  streamStallMs: 120_000,
  /** After a stop signal, connections still open are cut after this. */
  stopGraceMs: 3000,
  /** The instance record is touched this often. */
  heartbeatMs: 5000,
  /** A waiting call that asked for progress gets it this often. */
  waitProgressMs: 10_000,
  /** An instance must have begun an answer to the gateway within this time. */
  instanceAnswerMs: 10_000,
  /** An answer that brings nothing more for this long has ended. */
  instanceSilenceMs: 30_000,
  /** The accounts server is asked again this often for each token with which something is open. */
  joinTokenCheckMs: 3000,
  /** Instances that were joined before a restart are back within this time. */
  rejoinMs: 3000,
}

export type ServerLimits = typeof serverDefaults

/**
 * A connection on which nothing moves for so long is cut: a reader of a large answer that takes
 * nothing any more would hold its bytes, or its file, for ever.
 */
export function stallTimeoutMs(
  limits: Pick<ServerLimits, 'streamStallMs' | 'streamKeepAliveMs'>,
): number {
  return Math.max(limits.streamStallMs, 2 * limits.streamKeepAliveMs)
}
