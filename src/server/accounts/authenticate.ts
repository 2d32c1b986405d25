import { serviceTokenPrefix } from '../../lib/accounts/protocol.ts'
import { bearerToken } from '../../lib/auth/validate-bearer-token.ts'
import type { Clock } from '../../lib/util/time.ts'
import { type Scope, scopes } from '../../lib/accounts/wire.ts'
import type { AccessClaims, AccessFailure, AccessTokens } from './access-tokens.ts'
import type { AccountRow, AccountStore, ServiceTokenRow, SessionRow } from './account-store.ts'
import type { Call } from './call.ts'
import { AccountsProblem } from './problems.ts'
import { isAlive } from './refresh-decision.ts'
import { hashOfSecret, isServiceToken } from './service-tokens.ts'

/** The caller of a request. Exactly one of `session` and `token` is not null. */
export interface Principal {
  readonly account: AccountRow
  readonly scopes: readonly Scope[]
  readonly session: SessionRow | null
  readonly token: ServiceTokenRow | null
}

export interface Authenticator {
  /** Throws the refusal. The store is asked each time: a session that ended is out at once. */
  authenticate(call: Call): Promise<Principal>
  /** The living session that these claims belong to. */
  principalOf(claims: AccessClaims): Promise<Principal & { readonly session: SessionRow }>
}

export function createAuthenticator(parts: {
  store: AccountStore
  accessTokens: AccessTokens
  clock: Clock
}): Authenticator {
  const { store, accessTokens, clock } = parts

  async function principalOf(claims: AccessClaims) {
    const state = await store.findSession(claims.sessionId)
    if (state === null || !isAlive(state, clock.now())) throw revoked()
    const { session, account } = state
    if (account.id !== claims.accountId) throw invalidToken()
    return { account, session, token: null, scopes: claims.scopes }
  }

  async function byServiceToken(text: string): Promise<Principal> {
    if (!isServiceToken(text)) throw invalidToken()
    const state = await store.findServiceToken(hashOfSecret(text))
    if (state === null) throw invalidToken()
    const { token, account } = state
    if (account.disabledAtMs !== null) {
      throw new AccountsProblem('token-revoked', 'the account of this service token is disabled')
    }
    if (token.revokedAtMs !== null) {
      throw new AccountsProblem('token-revoked', 'the service token was revoked; create a new one')
    }
    if (clock.now() >= token.expiresAtMs) {
      throw new AccountsProblem('token-expired', 'the service token has expired; create a new one')
    }
    // A full disk must not end pipelines: a use that cannot be noted is still a use.
    await store.touchServiceToken(token.id, clock.now()).catch(() => {})
    const allowed = scopes.filter(scope => scope !== 'account' && token.scopes.includes(scope))
    return { account, token, session: null, scopes: allowed }
  }

  return {
    principalOf,
    async authenticate(call) {
      const text = presentedToken(call)
      if (text.startsWith(serviceTokenPrefix)) return byServiceToken(text)
      const claims = await accessTokens.verify(text)
      if (claims.ok) return principalOf(claims.value)
      throw refusedAccess(claims.failure)
    },
  }
}

/** Throws `token-missing`. */
export function presentedToken({ authorization }: Call): string {
  const text = bearerToken(authorization)
  if (text !== null) return text
  const message =
    authorization === undefined
      ? 'a token is required: send "Authorization: Bearer <token>"'
      : 'the Authorization header must be "Bearer <token>"'
  throw new AccountsProblem('token-missing', message)
}

export function requireScope(principal: Principal, scope: Scope): void {
  if (principal.scopes.includes(scope)) return
  const message =
    principal.token === null
      ? `the token does not have the scope "${scope}"`
      : 'a service token cannot manage the account: log in with the password'
  throw new AccountsProblem('insufficient-scope', message, { scope })
}

export function invalidToken(): AccountsProblem {
  return new AccountsProblem('token-invalid', 'the token is not one of this accounts server')
}

export function refusedAccess(failure: AccessFailure): AccountsProblem {
  switch (failure) {
    case 'invalid':
      return invalidToken()
    case 'expired':
      return new AccountsProblem(
        'token-expired',
        'the token has expired; refresh it or log in again',
      )
    case 'early':
      return new AccountsProblem(
        'token-invalid',
        'the token was issued in the future: the clock of the accounts server may be wrong',
      )
  }
}

export function revoked(): AccountsProblem {
  return new AccountsProblem('token-revoked', 'the session has ended; log in again')
}
