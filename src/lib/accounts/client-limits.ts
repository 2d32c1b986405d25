/** Bounds of the client of an accounts server. */
export interface ClientLimits {
  /** Until a connection stands. */
  readonly connectTimeoutMs: number
  /** Of one request, from its beginning to the last byte of the answer. */
  readonly requestTimeoutMs: number
  readonly maxAnswerBytes: number
  readonly maxAnswerDepth: number
  /** Repetitions of a GET that failed for a reason that may pass. */
  readonly maxRetries: number
  /** Before the first repetition; doubled before each further one. */
  readonly retryDelayMs: number
  /** An accounts server that asks to wait for longer is not asked again. */
  readonly maxRetryAfterMs: number
  /** A token is refreshed when less than this is left of it. */
  readonly refreshMarginMs: number
}

export const defaultClientLimits: ClientLimits = Object.freeze({
  connectTimeoutMs: 5000,
  requestTimeoutMs: 30_000,
  maxAnswerBytes: 1024 * 1024,
  maxAnswerDepth: 32,
  maxRetries: 2,
  retryDelayMs: 300,
  maxRetryAfterMs: 30_000,
  refreshMarginMs: 5 * 60_000,
})
