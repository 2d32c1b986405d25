import type { Logger } from '../util/logger.ts'
import { Secret } from '../util/secret.ts'

type HeaderValue = string | readonly string[] | undefined

/**
 * Request headers: a record as Node's `IncomingMessage` has it, or anything that goes through pairs
 * of name and value (`Headers` of any implementation, a `Map`).
 */
export type HeaderSource =
  Iterable<readonly [string, HeaderValue]> | Readonly<Record<string, HeaderValue>>

export interface BearerOptions {
  /** The token to present; null switches the check off, with a warning. Never empty. */
  expectedToken: string | null
  /** Default `Authorization`; its case does not matter. */
  headerName?: string
  /** Receives the warning; without it `process.emitWarning` does. */
  log?: Pick<Logger, 'warn'>
}

/**
 * Is the header exactly `Bearer <expectedToken>` (RFC 6750, section 2.1)? False when it is missing,
 * sent more than once, of another scheme, or different in a single space or letter. No header
 * value makes it throw. The comparison takes the same time wherever the texts differ.
 * With `expectedToken` null the check is off: true, and a warning each time, with the code
 * `SERVICE_AUTH_DISABLED`. Throws `TypeError` when it is undefined or an empty text, either of which
 * is a mistake that would let everyone in.
 */
export function validateBearerToken(headers: HeaderSource, options: BearerOptions): boolean {
  const { expectedToken, headerName = 'Authorization', log } = options
  if (expectedToken === null) {
    warnDisabled(log)
    return true
  }
  if (typeof expectedToken !== 'string' || expectedToken === '') {
    throw new TypeError('expectedToken must be a non-empty string, or null to switch the check off')
  }
  const presented = findHeader(headers, headerName)
  // The whole header, to the letter: neither another case of the scheme nor a second space.
  return presented !== null && new Secret(`Bearer ${expectedToken}`).equals(presented)
}

/** The only value of the header; null when there is none or more than one. */
function findHeader(headers: HeaderSource, name: string): string | null {
  const wanted = name.toLowerCase()
  const values: unknown[] = []
  for (const [key, value] of pairsOf(headers)) {
    if (key.toLowerCase() === wanted && value !== undefined) values.push(value)
  }
  const sent = values.flat()
  return sent.length === 1 && typeof sent[0] === 'string' ? sent[0] : null
}

function pairsOf(headers: HeaderSource): Iterable<readonly [string, HeaderValue]> {
  return isIterable(headers) ? headers : Object.entries(headers)
}

function isIterable(headers: HeaderSource): headers is Iterable<readonly [string, HeaderValue]> {
  return Symbol.iterator in headers
}

function warnDisabled(log: Pick<Logger, 'warn'> | undefined): void {
  const message = 'the bearer token is not checked: no token is configured'
  if (log !== undefined) log.warn({ code: 'SERVICE_AUTH_DISABLED' }, message)
  else process.emitWarning(message, { code: 'SERVICE_AUTH_DISABLED' })
}

const form = /^Bearer +([\x21-\x7e]+) *$/i
const tokenForm = /^[\x21-\x7e]+$/

/** The token of an `Authorization` header (RFC 6750, section 2.1), or null for anything else. */
export function bearerToken(header: string | undefined): string | null {
  return form.exec(header ?? '')?.[1] ?? null
}

/** Can such a header carry the text: visible ASCII, no spaces, and not empty? */
export function isTokenText(text: string): boolean {
  return tokenForm.test(text)
}

/**
 * A token that cannot be accepted. Nothing in this library throws it: `validateBearerToken`
 * answers false. It is there for handlers that would rather throw, with the reason as `cause`. Keep
 * the token itself out of the message: it ends up in logs.
 */
export class TokenValidationError extends Error {
  override readonly name = 'TokenValidationError'

  constructor(message = 'token validation failed', options?: ErrorOptions) {
    super(message, options)
  }
}

/** `{ success: false, message }`, to be sent as it is; `message` is for people. */
export interface UnauthorizedResult {
  readonly success: false
  readonly message: string
}

/**
 * What a handler answers when `validateBearerToken` returned false. Neither the token nor what is
 * wrong with it is told.
 */
export function unauthorizedResult(
  message = 'unauthorized: a valid bearer token is required',
): UnauthorizedResult {
  return { success: false, message }
}
