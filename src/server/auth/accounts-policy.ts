import { bearerToken } from '../../lib/auth/validate-bearer-token.ts'
import type { AuthOutcome, AuthPolicy, AuthRefused } from '../http/authentication.ts'
import { type AccountTokens, type CheckedToken, isAccountToken } from './account-tokens.ts'
import type { FailureLimit } from './failure-limit.ts'

const scope = 'read'
/** Before the scheme that a token may read. */
const some = 'read:'
const retryAfterSeconds = 5

/** Accepts the tokens of an accounts server, whose users see what is theirs, beside all `keys`. */
export function withAccountTokens(
  keys: AuthPolicy,
  tokens: Pick<AccountTokens, 'check' | 'watch'>,
  failures: FailureLimit,
): AuthPolicy {
  function decide(token: string, checked: CheckedToken, peer: string): AuthOutcome {
    if (!checked.ok) {
      const { kind, reason } = checked.failure
      if (kind === 'invalid') return failures.refused(peer, invalid(reason))
      return {
        ok: false,
        status: 503,
        error: 'temporarily_unavailable',
        retryAfterSeconds,
        description: 'cannot check the token: the accounts server does not answer; try later',
      }
    }
    const { accountId, username, team, scopes, tokenName } = checked.value
    const schemes = scopes.flatMap(each => (each.startsWith(some) ? [each.slice(some.length)] : []))
    const isAll = scopes.includes(scope)
    if (!isAll && schemes.length === 0) return insufficient
    return {
      ok: true,
      principal: `user:${username}${tokenName === null ? '' : ` token:${tokenName}`}`,
      viewer: { accountId, username, team, schemes: isAll ? null : schemes.toSorted() },
      watch: ended => tokens.watch(token, ended),
    }
  }

  return {
    ...keys,
    authenticate(caller) {
      const sent = caller.headers.authorization
      if (sent === undefined) return missing
      const token = bearerToken(sent)
      if (token === null || !isAccountToken(token)) return keys.authenticate(caller)
      const checked = tokens.check(token, caller.peer)
      return checked instanceof Promise
        ? checked.then(settled => decide(token, settled, caller.peer))
        : decide(token, checked, caller.peer)
    },
  }
}

const create = `service-cli token create NAME --scope ${scope}`

const missing: AuthRefused = {
  ok: false,
  status: 401,
  description: `a token of the accounts server is required: make one with ${create}, and send it as Authorization: Bearer <token>`,
}

/** The refusal of what is neither a token of the accounts server nor a key. */
export const tokenUnknown: AuthRefused = {
  ok: false,
  status: 401,
  error: 'invalid_token',
  description: `this is no token of the accounts server: make one with ${create}`,
}

const insufficient: AuthRefused = {
  ok: false,
  status: 403,
  error: 'insufficient_scope',
  description: `the token does not have the scope ${scope}`,
  scope,
}

function invalid(reason: string): AuthRefused {
  return { ok: false, status: 401, error: 'invalid_token', description: reason }
}
