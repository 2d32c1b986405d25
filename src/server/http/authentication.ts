import type { IncomingHttpHeaders } from 'node:http'
import { bearerToken, isTokenText } from '../../lib/auth/validate-bearer-token.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { Secret } from '../../lib/util/secret.ts'

/** What is known of a request before anything of it is believed. */
export interface Caller {
  /** Absent: one that may change something. */
  readonly method?: string
  readonly headers: IncomingHttpHeaders
  /** Address of the client; that of the proxy's client behind a trusted proxy. */
  readonly peer: string
}

/** Which user a caller is, on a server where users see what is theirs. */
export interface Viewer {
  /** Of the accounts server; null for a user of another provider. */
  readonly accountId: string | null
  /** Likewise. */
  readonly username: string | null
  readonly team: string | null
  /** Schemes of instances that the caller may read; null: all. */
  readonly schemes: readonly string[] | null
}

/** A request that is let in. */
export interface AuthAccepted {
  readonly ok: true
  /** Sessions are bound to it. */
  readonly principal: string
  /** False: draining of events is refused with 403. Default true. */
  readonly mayWrite?: boolean
  /** False: answers to notes are refused with 403. Default: `mayWrite`. */
  readonly mayAnswer?: boolean
  /** Milliseconds since the epoch; streams that are open then are ended. Absent: never. */
  readonly expiresAtMs?: number
  /** Absent: the caller sees everything. */
  readonly viewer?: Viewer
  /**
   * Calls back when this access ends before its time, or becomes another one: what it has open is
   * cut then. Returns the stop.
   */
  readonly watch?: (ended: () => void) => () => void
}

/** Why a request is refused. */
export interface AuthRefused {
  readonly ok: false
  readonly status: 401 | 403 | 421 | 429 | 503
  /** RFC 6750 error code, absent when no credentials were sent at all. */
  readonly error?:
    'invalid_token' | 'insufficient_scope' | 'invalid_request' | 'temporarily_unavailable'
  readonly description: string
  /** All scopes that the request needs, with a space between them. */
  readonly scope?: string
  /** Where the metadata of the protected resource are (RFC 9728). */
  readonly resourceMetadata?: string
  /** With 429 and 503. */
  readonly retryAfterSeconds?: number
}

/** `error` is absent when no credentials were sent at all. */
export function refuse(
  status: AuthRefused['status'],
  error: AuthRefused['error'],
  description: string,
  more: Pick<AuthRefused, 'scope' | 'resourceMetadata' | 'retryAfterSeconds'> = {},
): AuthRefused {
  return { ok: false, status, error, description, ...more }
}

export function invalidToken(description: string): AuthRefused {
  return refuse(401, 'invalid_token', description)
}

/** 503, not 401, so that clients keep their tokens. `who` is to check the token. */
export function cannotCheck(who: string): AuthRefused {
  const description = `cannot check the token: ${who} does not answer; try later`
  return refuse(503, 'temporarily_unavailable', description, { retryAfterSeconds: 5 })
}

/** The caller of a request, or why it is refused. */
export type AuthOutcome = AuthAccepted | AuthRefused

/** Decides on every request to `/mcp` and `/artefacts`. Must not throw. */
export interface AuthPolicy {
  authenticate(caller: Caller): AuthOutcome | Promise<AuthOutcome>
  /** Whether every caller is let in now. Absent: never. */
  readonly isOpen?: () => boolean
  /**
   * The refusal of a request that would change something, of a caller who may not. Default:
   * 403 `insufficient_scope`, naming the scope `write`.
   */
  refuseWrite?(): AuthRefused
}

/** The principal of every caller of a server without authentication. */
export const anonymous = 'anonymous'

/** Every caller of a server without authentication may do everything. */
export const openAccess: AuthAccepted = { ok: true, principal: anonymous, mayWrite: true }

export const openPolicy: AuthPolicy = { authenticate: () => openAccess, isOpen: () => true }

/** Where a policy says nothing else. */
export const writeRefused = refuse(
  403,
  'insufficient_scope',
  'this key may read, and this request would change something',
  { scope: 'write' },
)

/** Whether the error refuses what only callers who may write do; other rights name their scheme. */
export function isWriteRefusal(error: unknown): boolean {
  if (!(error instanceof ServiceError) || error.code !== 'scope_insufficient') return false
  return error.data?.scheme === undefined
}

/** The `WWW-Authenticate` value of a refusal (RFC 6750, section 3; RFC 9728, section 5.1). */
export function challenge(refused: AuthRefused): string {
  const { error, description, scope, resourceMetadata } = refused
  const parameters: [string, string | undefined][] = [
    ['realm', 'service-cli'],
    ['error', error],
    ['error_description', description],
    ['scope', scope],
    ['resource_metadata', resourceMetadata],
  ]
  const written = parameters.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${quotable(value)}"`],
  )
  return `Bearer ${written.join(', ')}`
}

/** Node refuses to send other characters, and clients read the quotes without escapes. */
function quotable(text: string): string {
  return text.replaceAll('"', "'").replace(/[^\x20-\x7e]|\\/g, '?')
}

/** A caller with the key of the configuration: all of them are one principal. */
export const keyHolder: AuthAccepted = { ok: true, principal: 'api-key', mayWrite: true }

/** The refusal of a request that brings no credentials: it has guessed nothing. */
export const keyMissing = refuse(
  401,
  undefined,
  'an API key is required: send it as Authorization: Bearer <key>',
)

/** The refusal of an `Authorization` header that holds no key. */
export const keyMalformed = invalidToken('the Authorization header must be "Bearer <key>"')

const keyWrong = invalidToken('the API key is not the one this server was started with')

/**
 * One shared key, sent as `Authorization: Bearer <key>`. Compared in constant time. Everyone who
 * has it is the principal `api-key`. Throws `TypeError` for a key that is empty or has characters
 * that no such header can carry (all but visible ASCII).
 */
export function apiKeyPolicy(key: string): AuthPolicy {
  if (!isTokenText(key)) {
    throw new TypeError('the API key must be visible ASCII without spaces, and not empty')
  }
  const expected = new Secret(key)
  return {
    authenticate({ headers }) {
      const sent = headers.authorization
      if (sent === undefined) return keyMissing
      const token = bearerToken(sent)
      if (token === null) return keyMalformed
      return expected.equals(token) ? keyHolder : keyWrong
    },
  }
}
