import { serviceTokenPrefix } from '../../lib/accounts/protocol.ts'
import { bearerToken } from '../../lib/auth/validate-bearer-token.ts'
import type { Clock } from '../../lib/util/time.ts'
import type { TokenResponse } from '../../lib/accounts/wire.ts'
import type { AccessTokens } from './access-tokens.ts'
import type { AccountStore } from './account-store.ts'
import type { AuditTrail } from './audit-trail.ts'
import {
  type Authenticator,
  invalidToken,
  presentedToken,
  refusedAccess,
  revoked,
} from './authenticate.ts'
import type { Call } from './call.ts'
import type { AccountLimits } from './limits.ts'
import { AccountsProblem } from './problems.ts'
import { decideRefresh } from './refresh-decision.ts'
import { type RefreshClaims, refreshTokenPrefix, type RefreshTokens } from './refresh-tokens.ts'
import type { SessionTokens } from './session-tokens.ts'

export interface Refresher {
  /** One endpoint, three forms (docs/registry.md, "Refresh"). Throws the refusal. */
  refresh(call: Call, bodyToken: string | undefined): Promise<TokenResponse>
}

/** Another request may rotate between our look and our step; then the state is read again. */
const maxLooks = 5

export function createRefresher(parts: {
  store: AccountStore
  accessTokens: AccessTokens
  refreshTokens: RefreshTokens
  sessions: SessionTokens
  authenticator: Authenticator
  audit: AuditTrail
  clock: Clock
  limits: Pick<AccountLimits, 'refreshGraceMs'>
}): Refresher {
  const { store, accessTokens, refreshTokens, sessions, authenticator, audit, clock, limits } =
    parts

  /** A: an access token alone gives a further one, never a refresh token. */
  async function reissue(call: Call, token: string): Promise<TokenResponse> {
    const claims = await accessTokens.verify(token)
    if (!claims.ok) throw refusedAccess(claims.failure)
    const { session, account } = await authenticator.principalOf(claims.value)
    call.principal = account.id
    return sessions.again(session)
  }

  /** B and C: one step of the session. The store alone decides who makes it. */
  async function rotate(call: Call, claims: RefreshClaims): Promise<TokenResponse> {
    for (let look = 0; look < maxLooks; look++) {
      const nowMs = clock.now()
      const state = await store.findSession(claims.sessionId)
      const decision = decideRefresh(claims.counter, state, nowMs, limits.refreshGraceMs)
      if (state === null || decision === 'ended') throw revoked()
      const { session, account } = state
      call.principal = account.id
      if (decision === 'reused') {
        await store.revokeSession(account.id, session.id, 'refresh_reused', nowMs)
        const details = { session_id: session.id, steps_behind: session.counter - claims.counter }
        await audit.record('refresh.reused', call, account.id, details)
        const message =
          'this refresh token was used before and may have been copied, so the session has ended; log in again'
        throw new AccountsProblem('refresh-reused', message)
      }
      if (decision === 'repeat') {
        return sessions.pair(session, session.counter, session.rotatedAtMs ?? session.createdAtMs)
      }
      if (await store.rotateSession(session.id, session.counter, nowMs)) {
        return sessions.pair(session, session.counter + 1, nowMs)
      }
    }
    throw new AccountsProblem('overloaded', 'the session is being refreshed by others; try again', {
      retryAfter: 1,
    })
  }

  function parsed(token: string): RefreshClaims {
    const claims = refreshTokens.parse(token)
    if (claims === null) throw invalidToken()
    return claims
  }

  /** The access token beside a refresh token may be expired, but must be of the same session. */
  async function agree(call: Call, token: string, claims: RefreshClaims): Promise<void> {
    const access = await accessTokens.verifyPast(token)
    if (!access.ok) throw refusedAccess(access.failure)
    if (access.value.sessionId === claims.sessionId) return
    const details = { session_id: access.value.sessionId, other_session_id: claims.sessionId }
    await audit.record('refresh.mismatch', call, access.value.accountId, details)
    throw invalidToken()
  }

  return {
    async refresh(call, bodyToken) {
      if (bodyToken === undefined) {
        const token = presentedToken(call)
        if (token.startsWith(serviceTokenPrefix)) throw notRefreshed()
        return token.startsWith(refreshTokenPrefix)
          ? rotate(call, parsed(token))
          : reissue(call, token)
      }
      const claims = parsed(bodyToken)
      if (call.authorization === undefined) return rotate(call, claims)
      const beside = bearerToken(call.authorization)
      if (beside === null || beside.startsWith(serviceTokenPrefix)) throw invalidToken()
      if (beside.startsWith(refreshTokenPrefix)) {
        if (beside !== bodyToken) throw invalidToken()
      } else {
        await agree(call, beside, claims)
      }
      return rotate(call, claims)
    },
  }
}

function notRefreshed(): AccountsProblem {
  const message = 'a service token is not refreshed: it works until it expires, then make another'
  return new AccountsProblem('token-invalid', message)
}
