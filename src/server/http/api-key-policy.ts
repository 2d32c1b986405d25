import { bearerToken, isTokenText } from '../../lib/auth/bearer-token.ts'
import { Secret } from '../../lib/util/secret.ts'
import type { AuthAccepted, AuthPolicy, AuthRefused } from './authentication.ts'

/** Whoever has the key of the configuration: all of them are one caller. */
export const keyHolder: AuthAccepted = { ok: true, principal: 'api-key', mayWrite: true }

/** The refusal of a request that brings no credentials: it has guessed nothing. */
export const keyMissing: AuthRefused = {
  ok: false,
  status: 401,
  description: 'an API key is required: send it as Authorization: Bearer <key>',
}

/** The refusal of an `Authorization` header that holds no key. */
export const keyMalformed: AuthRefused = {
  ok: false,
  status: 401,
  error: 'invalid_token',
  description: 'the Authorization header must be "Bearer <key>"',
}

const keyWrong: AuthRefused = {
  ok: false,
  status: 401,
  error: 'invalid_token',
  description: 'the API key is not the one this server was started with',
}

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
