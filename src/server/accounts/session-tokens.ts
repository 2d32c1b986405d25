import { randomBytes, randomUUID } from 'node:crypto'
import type { Clock } from '../../lib/util/time.ts'
import type { TokenResponse } from '../../lib/accounts/wire.ts'
import type { AccessTokens } from './access-tokens.ts'
import type { AccountStore, NewSession } from './account-store.ts'
import type { Call } from './call.ts'
import type { AccountLimits } from './limits.ts'
import type { RefreshTokens } from './refresh-tokens.ts'

/** What a token answer needs of a session. */
type TokenSession = Pick<NewSession, 'id' | 'accountId' | 'createdAtMs' | 'expiresAtMs'>

/** Sessions and the tokens that belong to them. */
export interface SessionTokens {
  /** Not stored yet. */
  make(accountId: string, call: Call): NewSession
  /**
   * Stores it; when the account has too many, the oldest end. Null when the account is gone or
   * disabled, or has another password by now.
   */
  open(accountId: string, passwordHash: string, call: Call): Promise<NewSession | null>
  /** Access and refresh token of one step of the session: asked again, the same pair. */
  pair(session: TokenSession, counter: number, atMs: number): Promise<TokenResponse>
  /** A further access token alone. */
  again(session: TokenSession): Promise<TokenResponse>
}

export function createSessionTokens(parts: {
  store: AccountStore
  accessTokens: AccessTokens
  refreshTokens: RefreshTokens
  clock: Clock
  limits: Pick<AccountLimits, 'refreshTokenMs' | 'maxAccountSessions'>
}): SessionTokens {
  const { store, accessTokens, refreshTokens, clock, limits } = parts

  function make(accountId: string, call: Call): NewSession {
    const createdAtMs = clock.now()
    return {
      id: randomUUID(),
      accountId,
      createdAtMs,
      expiresAtMs: createdAtMs + limits.refreshTokenMs,
      address: call.address,
    }
  }

  async function access(
    session: TokenSession,
    tokenId: string,
    issuedAtMs: number,
  ): Promise<TokenResponse> {
    const { token, expiresInSeconds, scope } = await accessTokens.issue({
      accountId: session.accountId,
      sessionId: session.id,
      tokenId,
      authenticatedAtMs: session.createdAtMs,
      issuedAtMs,
      sessionExpiresAtMs: session.expiresAtMs,
    })
    return { access_token: token, token_type: 'Bearer', expires_in: expiresInSeconds, scope }
  }

  return {
    make,
    async open(accountId, passwordHash, call) {
      const session = make(accountId, call)
      if (!(await store.createSession(session, { passwordHash }))) return null
      const living = await store.listSessions(accountId, clock.now())
      for (const old of living.slice(limits.maxAccountSessions)) {
        await store.revokeSession(accountId, old.id, 'too_many', clock.now())
      }
      return session
    },
    async pair(session, counter, atMs) {
      const step = { sessionId: session.id, counter }
      const answer = await access(session, refreshTokens.accessTokenId(step), atMs)
      return {
        ...answer,
        refresh_token: refreshTokens.issue(step),
        refresh_expires_in: Math.ceil((session.expiresAtMs - clock.now()) / 1000),
      }
    },
    again: session => access(session, randomBytes(16).toString('base64url'), clock.now()),
  }
}
