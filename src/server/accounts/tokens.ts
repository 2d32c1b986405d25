import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import { errors, jwtVerify, SignJWT } from 'jose'
import { serviceScopes } from '../../lib/accounts/protocol.ts'
import type { TokenScope, TokenResponse } from '../../lib/accounts/wire.ts'
import { hashOfSecret } from '../../lib/util/secret.ts'
import { isUuid } from '../../lib/util/text.ts'
import { AccountsProblem } from './problems.ts'
import type { SigningKeys } from './signing-keys.ts'
import type { AccountRow, NewSession, ServiceTokenRow, SessionRow } from './schema.ts'
import type { AccountStore } from './store.ts'

const dayMs = 24 * 60 * 60_000
/** A session is over after this, however often it was refreshed. */
const sessionMs = 30 * dayMs
/** The previous refresh token gives the current one again for so long. */
const graceMs = 60_000
/** How far the clocks of several servers may be apart. */
const clockToleranceSeconds = 5
const sessionScopes: TokenScope[] = ['account', 'read', 'publish']
export const serviceTokenPrefix = 'svc_'
/** Before the id of the session and the secret. */
const refreshTokenPrefix = 'srt_'
/** Of 32 bytes in base64url. */
const secretChars = 43

/** The caller of a request. Exactly one of `session` and `token` is not null. */
export interface Principal {
  account: AccountRow
  scopes: TokenScope[]
  session: SessionRow | null
  token: ServiceTokenRow | null
}

interface TokensParts {
  store: AccountStore
  keys: SigningKeys
  /** `iss` of every access token, and its only audience. */
  issuer: string
  /** Default 24 hours. */
  accessTokenMs?: number
}

/**
 * Access tokens are JWTs of the profile RFC 9068. A refresh token names its session and ends in a
 * secret; a service token is a secret. Only SHA-256 of both is stored. Sessions and accounts are
 * looked up on every request: what has ended is refused at once.
 */
export class Tokens {
  readonly #parts: TokensParts

  constructor(parts: TokensParts) {
    this.#parts = parts
  }

  /** A session that is not stored yet, with its first refresh token. */
  newSession(accountId: string): { session: NewSession; refreshToken: string } {
    const id = randomUUID()
    const refreshToken = refreshTokenPrefix + id + randomText()
    const createdAtMs = Date.now()
    const session = {
      id,
      accountId,
      tokenHash: hashOfSecret(refreshToken),
      seed: randomText(),
      createdAtMs,
      expiresAtMs: createdAtMs + sessionMs,
    }
    return { session, refreshToken }
  }

  /** An access token of the session; with its refresh token, where one is given. */
  async issueTokens(session: NewSession, refreshToken?: string): Promise<TokenResponse> {
    const { keys, issuer, accessTokenMs = dayMs } = this.#parts
    const { kid, key } = keys.current.signing
    const now = seconds(Date.now())
    const sessionEnd = seconds(session.expiresAtMs)
    const expires = Math.min(now + seconds(accessTokenMs), sessionEnd)
    const scope = sessionScopes.join(' ')
    const claims = {
      iss: issuer,
      aud: issuer,
      sub: session.accountId,
      client_id: 'service-cli',
      sid: session.id,
      scope,
      auth_time: seconds(session.createdAtMs),
      jti: randomUUID(),
      iat: now,
      exp: expires,
    }
    const header = { typ: 'at+jwt', alg: 'ES256', kid }
    const token = await new SignJWT(claims).setProtectedHeader(header).sign(key)
    return {
      access_token: token,
      token_type: 'Bearer',
      expires_in: expires - now,
      scope,
      refresh_token: refreshToken,
      refresh_expires_in: refreshToken === undefined ? undefined : sessionEnd - now,
    }
  }

  /**
   * Replaces the current refresh token; the previous one gives the current one again for a minute.
   * Null in place of the new one: this one was used before, and its session has ended. Throws
   * `token-invalid` or `token-revoked`.
   */
  async rotate(presented: string): Promise<{ session: SessionRow; refreshToken: string | null }> {
    const id = presented.slice(refreshTokenPrefix.length, -secretChars)
    if (!presented.startsWith(refreshTokenPrefix) || !isUuid(id)) throw invalid()
    const { session } = await this.#findLiving(id)
    const hash = hashOfSecret(presented)
    if (hash === session.tokenHash) {
      const seed = randomText()
      const refreshToken = nextToken(id, seed, presented)
      const next = { tokenHash: hashOfSecret(refreshToken), seed, rotatedAtMs: Date.now() }
      if (await this.#parts.store.rotateSession(id, hash, next)) return { session, refreshToken }
      // Another request was first: now the token is the previous one, or the session has ended.
      return this.rotate(presented)
    }
    const isRecent = session.rotatedAtMs !== null && Date.now() - session.rotatedAtMs < graceMs
    if (hash === session.previousHash && isRecent) {
      return { session, refreshToken: nextToken(id, session.seed, presented) }
    }
    await this.#parts.store.endSessions({ id })
    return { session, refreshToken: null }
  }

  /** Throws `token-invalid`, `token-expired` or `token-revoked`. */
  async authenticate(presented: string): Promise<Principal> {
    if (presented.startsWith(serviceTokenPrefix)) return this.#byServiceToken(presented)
    const found = await this.#findLiving(await this.#verify(presented))
    return { ...found, token: null, scopes: sessionScopes }
  }

  async #findLiving(id: string): Promise<{ session: SessionRow; account: AccountRow }> {
    const found = await this.#parts.store.findSession(id)
    const isOver =
      found === null ||
      found.session.expiresAtMs <= Date.now() ||
      found.account.disabledAtMs !== null
    if (isOver) throw new AccountsProblem('token-revoked', 'the session has ended; log in again')
    return found
  }

  async #byServiceToken(text: string): Promise<Principal> {
    const found = await this.#parts.store.findServiceToken(hashOfSecret(text))
    if (found === null || found.account.disabledAtMs !== null) {
      const message = 'the service token was revoked or never existed; create a new one'
      throw new AccountsProblem('token-revoked', message)
    }
    const { token, account } = found
    if (Date.now() >= token.expiresAtMs) {
      throw new AccountsProblem('token-expired', 'the service token has expired; create a new one')
    }
    return { account, token, session: null, scopes: scopesOf(token) }
  }

  /** Returns the id of the session. */
  async #verify(accessToken: string): Promise<string> {
    const { keys, issuer } = this.#parts
    try {
      const { verifying } = keys.current
      const { payload } = await jwtVerify<{ sid: string }>(accessToken, verifying, {
        algorithms: ['ES256'],
        issuer,
        audience: issuer,
        typ: 'at+jwt',
        requiredClaims: ['sid', 'exp'],
        clockTolerance: clockToleranceSeconds,
      })
      return payload.sid
    } catch (error) {
      if (error instanceof errors.JWTExpired) {
        const message = 'the token has expired; refresh it or log in again'
        throw new AccountsProblem('token-expired', message)
      }
      if (error instanceof errors.JOSEError) throw invalid()
      throw error
    }
  }
}

/** The scopes of a service token. */
export function scopesOf({ scopes }: Pick<ServiceTokenRow, 'scopes'>) {
  const words = scopes.split(' ')
  return serviceScopes.filter(scope => words.includes(scope))
}

/** 32 bytes in base64url. */
function randomText(): string {
  return randomBytes(32).toString('base64url')
}

/** The token after the one presented: the holder of that one, with the seed, can be told it again. */
function nextToken(sessionId: string, seed: string, presented: string): string {
  const secret = createHmac('sha256', seed).update(presented).digest('base64url')
  return refreshTokenPrefix + sessionId + secret
}

function invalid(): AccountsProblem {
  return new AccountsProblem('token-invalid', 'the token is not one of this accounts server')
}

function seconds(timeMs: number): number {
  return Math.floor(timeMs / 1000)
}
