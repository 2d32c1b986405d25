import type { ErrorCode } from '../util/errors.ts'
import type { ClientLimits } from './client-limits.ts'

/** How an attempt ended, as far as it matters for another one. */
export type Attempt =
  | { readonly status: number; readonly retryAfterMs: number | null }
  | { readonly code: ErrorCode; readonly retryAfterMs?: null }

const passing = new Set([502, 503, 504])

/**
 * How long to wait before the same request again, or null for never. Only GET is repeated: of
 * anything else nobody knows whether it was done (a password tried twice counts twice). A time-out
 * is not repeated either: it has already taken all the time there was.
 */
export function retryDelayMs(
  method: string,
  retriesDone: number,
  attempt: Attempt,
  limits: ClientLimits,
): number | null {
  if (method !== 'GET' || retriesDone >= limits.maxRetries) return null
  const backoffMs = limits.retryDelayMs * 2 ** retriesDone
  if ('code' in attempt) return attempt.code === 'network_failed' ? backoffMs : null
  const { status, retryAfterMs } = attempt
  if (status !== 429 && !passing.has(status)) return null
  if (retryAfterMs === null) return backoffMs
  return retryAfterMs <= limits.maxRetryAfterMs ? retryAfterMs : null
}

/** `Retry-After` (RFC 9110, section 10.2.3): seconds or a date. Null when it is neither. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null
  const text = value.trim()
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  if (!/^[A-Za-z]{3},/.test(text)) return null
  const timeMs = Date.parse(text)
  return Number.isNaN(timeMs) ? null : Math.max(0, timeMs - nowMs)
}
