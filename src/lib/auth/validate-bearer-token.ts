import type { Logger } from '../logger.ts'
import { Secret } from '../secret.ts'

/** Request headers: a `Headers` object, or a record as Node's `IncomingMessage` has it. */
export type HeaderSource =
  Headers | Readonly<Record<string, string | readonly string[] | undefined>>

export interface BearerOptions {
  /** The token to present; null switches the check off, with a warning. Never empty. */
  expectedToken: string | null
  /** Default `Authorization`; its case does not matter. */
  headerName?: string
  /** Receives the warning; without it `process.emitWarning` does. */
  log?: Pick<Logger, 'warn'>
}

/**
 * Is the header exactly `Bearer <expectedToken>`? False when it is missing, sent more than once,
 * of another scheme or different. The comparison takes the same time wherever they differ.
 * Throws `TypeError` when the expected token is an empty text: that would let everyone in.
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
  if (headers instanceof Headers) return headers.get(name)
  const wanted = name.toLowerCase()
  const values: string[] = []
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() === wanted && value !== undefined) values.push(...[value].flat())
  }
  const [first] = values
  return first !== undefined && values.length === 1 ? first : null
}

function warnDisabled(log: Pick<Logger, 'warn'> | undefined): void {
  const message = 'the bearer token is not checked: no token is configured'
  if (log !== undefined) log.warn({ code: 'SERVICE_AUTH_DISABLED' }, message)
  else process.emitWarning(message, { code: 'SERVICE_AUTH_DISABLED' })
}
