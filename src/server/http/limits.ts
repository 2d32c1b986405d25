import type { Limits } from '../../lib/config/limits.ts'

/** Bounds of connections, which tests shrink. Sizes in bytes, times in milliseconds. */
export const httpDefaults = {
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
}

export type HttpLimits = Limits & typeof httpDefaults

/**
 * A connection on which nothing moves for so long is cut: a reader of a large answer that takes
 * nothing any more would hold its bytes, or its file, for ever.
 */
export function stallTimeoutMs(
  limits: Pick<HttpLimits, 'streamStallMs' | 'streamKeepAliveMs'>,
): number {
  return Math.max(limits.streamStallMs, 2 * limits.streamKeepAliveMs)
}
