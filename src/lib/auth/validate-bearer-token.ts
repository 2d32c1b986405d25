import type { Logger } from '../util/logger.ts'
import { Secret } from '../util/secret.ts'

type HeaderValue = string | readonly string[] | undefined

/**
 * Request headers: a record like that of Node's `IncomingMessage`, or an iterable of name and value
 * pairs such as `Headers` or a `Map`.
 */
export type HeaderSource =
  Iterable<readonly [string, HeaderValue]> | Readonly<Record<string, HeaderValue>>

export interface BearerOptions {
  /** The expected token, never empty; null disables the check with a warning. */
  expectedToken: string | null
  /** Case-insensitive. Default `Authorization`. */
  headerName?: string
  /** Receives the warning. Default: `process.emitWarning`. */
  log?: Pick<Logger, 'warn'>
}

/**
 * True when the header is exactly `Bearer <expectedToken>` (RFC 6750, section 2.1). False when it
 * is missing, repeated, of another scheme or different in any character. Compares in constant time.
 * With a null `expectedToken` the check is disabled: returns true and warns each time, with the
 * code `SERVICE_AUTH_DISABLED`. Throws `TypeError` when `expectedToken` is undefined or empty,
 * which would let everyone in by mistake; never throws for a header.
 */
export function validateBearerToken(headers: HeaderSource, options: BearerOptions): boolean {
  const { expectedToken, headerName = 'Authorization', log } = options
  if (expectedToken === null) {
    const message = 'the bearer token is not checked: no token is configured'
    if (log !== undefined) log.warn({ code: 'SERVICE_AUTH_DISABLED' }, message)
    else process.emitWarning(message, { code: 'SERVICE_AUTH_DISABLED' })
    return true
  }
  if (!expectedToken) {
    throw new TypeError('expectedToken must be a non-empty string, or null to disable the check')
  }
  const presented = findHeader(headers, headerName)
  return presented !== null && new Secret(`Bearer ${expectedToken}`).equals(presented)
}

/** The value of the header; null when it is missing or repeated. */
function findHeader(headers: HeaderSource, name: string): string | null {
  const pairs = Symbol.iterator in headers ? [...headers] : Object.entries(headers)
  const values = pairs.filter(([key]) => key.toLowerCase() === name.toLowerCase())
  const [value, ...others] = values.flatMap(([, each]) => each ?? [])
  return typeof value === 'string' && others.length === 0 ? value : null
}

/** The token of an `Authorization` header (RFC 6750, section 2.1), or null for anything else. */
export function bearerToken(header: string | undefined): string | null {
  return /^Bearer +([\x21-\x7e]+) *$/i.exec(header ?? '')?.[1] ?? null
}

/** True for text that the header can carry: visible ASCII, no spaces, not empty. */
export function isTokenText(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text)
}

/**
 * When a token says that it ends, in milliseconds; undefined for one that does not. Nothing is
 * verified: it only tells when to ask for a new one.
 */
export function tokenExpiry(token: Secret): number | undefined {
  try {
    const claims = Buffer.from(token.reveal().split('.')[1] ?? '', 'base64url').toString()
    const timeMs = Math.floor(JSON.parse(claims).exp * 1000)
    return Number.isNaN(new Date(timeMs).getTime()) ? undefined : timeMs
  } catch {
    return undefined
  }
}

/**
 * An invalid token, for handlers that throw instead of returning; put the reason in `cause`. The
 * library never throws it. Keep the token out of the message, which may be logged.
 */
export class TokenValidationError extends Error {
  override readonly name = 'TokenValidationError'

  constructor(message = 'token validation failed', options?: ErrorOptions) {
    super(message, options)
  }
}

/** A response body; `message` is for people. */
export type UnauthorizedResult = ReturnType<typeof unauthorizedResult>

/**
 * The response when `validateBearerToken` returned false. Reveals neither the token nor the reason.
 */
export function unauthorizedResult(message = 'unauthorized: a valid bearer token is required') {
  return { success: false as const, message }
}
