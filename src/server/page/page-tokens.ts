import { bearerToken } from '../../lib/auth/validate-bearer-token.ts'
import {
  type AuthOutcome,
  type AuthPolicy,
  type AuthRefused,
  writeRefused,
} from '../http/authentication.ts'
import { type PageSessions, tokenPrefix } from './sessions.ts'

/**
 * Accepts the bearer tokens of the page in front of another policy. A session reads what a key
 * reads, and never answers notes: that is for agents. It ends with the key that it was opened with.
 */
export function acceptPageTokens(policy: AuthPolicy, sessions: PageSessions): AuthPolicy {
  return {
    authenticate(caller) {
      const token = bearerToken(caller.headers.authorization)
      if (token?.startsWith(tokenPrefix) !== true) return policy.authenticate(caller)
      return outcomeOf(token, sessions)
    },
    refuseWrite: change => policy.refuseWrite?.(change) ?? writeRefused(),
    onRevoked(listener) {
      const stops = [
        sessions.onEnded(listener),
        policy.onRevoked?.(principal => {
          sessions.endOf(principal)
          listener(principal)
        }),
      ]
      return () => stops.forEach(stop => stop?.())
    },
  }
}

function outcomeOf(token: string, sessions: PageSessions): AuthOutcome {
  const session = sessions.ofToken(token)
  if (session === null) return tokenRefused
  const { principal, mayWrite, expiresAtMs, viewer } = session
  // What is open lasts as long as the session: a stream that is cut every ten minutes would look
  // like a server that is away.
  return { ok: true, principal, mayWrite, mayAnswer: false, expiresAtMs, viewer }
}

/** Not counted as a guess: each page has an old one after the server was started again. */
const tokenRefused: AuthRefused = {
  ok: false,
  status: 401,
  error: 'invalid_token',
  description: 'the token of the page has expired, or its login has ended',
}
