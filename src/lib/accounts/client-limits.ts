import { ServiceError } from '../util/errors.ts'

/** Bounds of the client of a registry (docs/limits.md, "Client of a registry"). */
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
  /** A registry that asks to wait for longer is not asked again. */
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

const maxTimeoutSeconds = 3600

/** The bounds with `SERVICE_TIMEOUT` (seconds, of a whole request). Throws `usage_invalid`. */
export function clientLimits(timeout: string | undefined): ClientLimits {
  if (timeout === undefined || timeout.trim() === '') return defaultClientLimits
  const seconds = /^\d+(\.\d+)?$/.test(timeout.trim()) ? Number(timeout) : 0
  if (seconds < 0.001 || seconds > maxTimeoutSeconds) {
    throw new ServiceError('usage_invalid', 'SERVICE_TIMEOUT is no time in seconds', {
      hint: `set it to a number from 0.001 to ${maxTimeoutSeconds}, or unset it`,
    })
  }
  const requestTimeoutMs = Math.ceil(seconds * 1000)
  const connectTimeoutMs = Math.min(defaultClientLimits.connectTimeoutMs, requestTimeoutMs)
  return { ...defaultClientLimits, requestTimeoutMs, connectTimeoutMs }
}
