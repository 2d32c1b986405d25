import type { IncomingHttpHeaders } from 'node:http'
import { bearerToken } from '../../lib/auth/bearer-token.ts'
import { Secret } from '../../lib/secret.ts'

/** What is known of a request before anything of it is believed. */
export interface Caller {
  readonly headers: IncomingHttpHeaders
  /** Address of the client; that of the proxy's client behind a trusted proxy. */
  readonly peer: string
}

/** Who a request comes from, or why it is refused. */
export type AuthOutcome =
  | { readonly ok: true; readonly principal: string }
  | {
      readonly ok: false
      readonly status: 401 | 403
      /** RFC 6750 error code, absent when no credentials were sent at all. */
      readonly error?: 'invalid_token' | 'insufficient_scope' | 'invalid_request'
      readonly description: string
    }

/** Decides on every request to `/mcp` and `/artefacts`. Must not throw. */
export interface AuthPolicy {
  authenticate(caller: Caller): AuthOutcome | Promise<AuthOutcome>
}

/** Everyone who reaches the server may read: the policy of a loopback server without a key. */
export const openPolicy: AuthPolicy = {
  authenticate: () => ({ ok: true, principal: 'anonymous' }),
}

/**
 * One shared key, sent as `Authorization: Bearer <key>`. Compared in constant time. Everyone who
 * has it is the principal `api-key`. Throws `TypeError` for a key that is empty or has characters
 * that no such header can carry (all but visible ASCII).
 */
export function apiKeyPolicy(key: string): AuthPolicy {
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new TypeError('the API key must be visible ASCII without spaces, and not empty')
  }
  const expected = new Secret(key)
  return {
    authenticate({ headers }) {
      const sent = headers.authorization
      if (sent === undefined) {
        return { ok: false, status: 401, description: 'an API key is required' }
      }
      const token = bearerToken(sent)
      if (token !== null && expected.equals(token)) {
        return { ok: true, principal: 'api-key' }
      }
      return {
        ok: false,
        status: 401,
        error: 'invalid_token',
        description:
          token === null
            ? 'the Authorization header must be "Bearer <key>"'
            : 'the API key is not the one this server was started with',
      }
    },
  }
}

/** The `WWW-Authenticate` value of a refusal (RFC 6750, section 3). */
export function challenge(outcome: AuthOutcome & { ok: false }): string {
  const parts = ['realm="service-cli"']
  if (outcome.error !== undefined) parts.push(`error="${outcome.error}"`)
  parts.push(`error_description="${outcome.description.replaceAll('"', "'")}"`)
  return `Bearer ${parts.join(', ')}`
}
