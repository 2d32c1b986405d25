import type { IncomingHttpHeaders } from 'node:http'

/** What is known of a request before anything of it is believed. */
export interface Caller {
  readonly headers: IncomingHttpHeaders
  /** Address of the client; that of the proxy's client behind a trusted proxy. */
  readonly peer: string
}

/** A request that is let in. */
export interface AuthAccepted {
  readonly ok: true
  /** Sessions are bound to it. */
  readonly principal: string
  /** False: reading only. What changes something is refused with 403. Default true. */
  readonly mayWrite?: boolean
  /** Milliseconds since the epoch; streams that are open then are ended. Absent: never. */
  readonly expiresAtMs?: number
}

/** Why a request is refused. */
export interface AuthRefused {
  readonly ok: false
  readonly status: 401 | 403 | 429 | 503
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

/** Who a request comes from, or why it is refused. */
export type AuthOutcome = AuthAccepted | AuthRefused

/** Decides on every request to `/mcp` and `/artefacts`. Must not throw. */
export interface AuthPolicy {
  authenticate(caller: Caller): AuthOutcome | Promise<AuthOutcome>
  /**
   * The refusal of a request that would change something, of a caller who may only read. Default:
   * 403 `insufficient_scope`, naming the scope `write`.
   */
  refuseWrite?(): AuthRefused
  /**
   * Calls back with each principal whose access ended before its time; what it has open is cut
   * then. Returns the way to stop listening.
   */
  onRevoked?(listener: (principal: string) => void): () => void
}

/** The principal of every caller of a server without authentication. */
export const anonymous = 'anonymous'

/** Everyone who reaches the server may do everything: the policy of one without authentication. */
export const openPolicy: AuthPolicy = {
  authenticate: () => ({ ok: true, principal: anonymous, mayWrite: true }),
}

/** Where a policy says nothing else. */
export function writeRefused(): AuthRefused {
  return {
    ok: false,
    status: 403,
    error: 'insufficient_scope',
    description: 'this key may read, and this request would change something',
    scope: 'write',
  }
}
