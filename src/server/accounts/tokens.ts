import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto'
import { errors, jwtVerify, SignJWT } from 'jose'
import { z } from 'zod'
import { serviceTokenPrefix } from '../../lib/accounts/protocol.ts'
import { type Scope, scopes, type TokenResponse } from '../../lib/accounts/wire.ts'
import { AccountsProblem } from './problems.ts'
import type { SigningKeys } from './signing-keys.ts'
import type { AccountRow, NewSession, ServiceTokenRow, SessionRow } from './schema.ts'
import type { AccountStore } from './store.ts'

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
const defaultAccessTokenMs = dayMs
/** A session is over after this, however often it was refreshed. */
const sessionMs = 30 * dayMs
/** The previous refresh token gives the current one again for so long. */
const graceMs = minuteMs
/** How far the clocks of several servers may be apart. */
const clockToleranceSeconds = 5
const sessionScopes: Scope[] = ['account', 'read', 'publish']
const refreshTokenPrefix = 'srt_'

/** The caller of a request. Exactly one of `session` and `token` is not null. */
export interface Principal {
  account: AccountRow
  scopes: Scope[]
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
  readonly #store: AccountStore
  readonly #keys: SigningKeys
  readonly #issuer: string
  readonly #accessTokenMs: number

  constructor({ store, keys, issuer, accessTokenMs = defaultAccessTokenMs }: TokensParts) {
    this.#store = store
    this.#keys = keys
    this.#issuer = issuer
    this.#accessTokenMs = accessTokenMs
  }

  /** A session that is not stored yet, with its first refresh token. */
  newSession(accountId: string, address: string): { session: NewSession; refreshToken: string } {
    const id = randomUUID()
    const refreshToken = refreshTokenOf(id, randomBytes(32))
    const createdAtMs = Date.now()
    const session = {
      id,
      accountId,
      tokenHash: hashOfSecret(refreshToken),
      seed: newSeed(),
      createdAtMs,
      expiresAtMs: createdAtMs + sessionMs,
      address,
    }
    return { session, refreshToken }
  }

  /** An access token of the session; with its refresh token, where one is given. */
  async issueTokens(session: NewSession, refreshToken?: string): Promise<TokenResponse> {
    const { kid, key } = this.#keys.signing
    const now = seconds(Date.now())
    const expires = Math.min(now + seconds(this.#accessTokenMs), seconds(session.expiresAtMs))
    const scope = sessionScopes.join(' ')
    const token = await new SignJWT({
      client_id: 'service-cli',
      sid: session.id,
      scope,
      auth_time: seconds(session.createdAtMs),
    })
      .setProtectedHeader({ typ: 'at+jwt', alg: 'ES256', kid })
      .setIssuer(this.#issuer)
      .setAudience(this.#issuer)
      .setSubject(session.accountId)
      .setJti(randomUUID())
      .setIssuedAt(now)
      .setExpirationTime(expires)
      .sign(key)
    return {
      access_token: token,
      token_type: 'Bearer',
      expires_in: expires - now,
      scope,
      refresh_token: refreshToken,
      refresh_expires_in:
        refreshToken === undefined ? undefined : seconds(session.expiresAtMs) - now,
    }
  }

  /**
   * Fresh tokens for the one presented: a pair for a refresh token, a further access token for an
   * access token. Throws `refresh-reused` after it has ended the session, once `onReuse` returned.
   */
  async refresh(
    presented: string,
    onReuse: (session: SessionRow) => Promise<void>,
  ): Promise<{ answer: TokenResponse; accountId: string }> {
    if (presented.startsWith(serviceTokenPrefix)) {
      const message = 'a service token cannot be refreshed; create a new one when it expires'
      throw new AccountsProblem('token-invalid', message)
    }
    if (!presented.startsWith(refreshTokenPrefix)) {
      const { session, account } = await this.#bySession(presented)
      return { answer: await this.issueTokens(session), accountId: account.id }
    }
    const { session, refreshToken } = await this.#rotate(presented, onReuse)
    const answer = await this.issueTokens(session, refreshToken)
    return { answer, accountId: session.accountId }
  }

  /** Throws `token-invalid`, `token-expired` or `token-revoked`. */
  async authenticate(presented: string): Promise<Principal> {
    if (presented.startsWith(serviceTokenPrefix)) return this.#byServiceToken(presented)
    return this.#bySession(presented)
  }

  /** The current token is replaced; the previous one gives the current one again for a minute. */
  async #rotate(
    presented: string,
    onReuse: (session: SessionRow) => Promise<void>,
  ): Promise<{ session: SessionRow; refreshToken: string }> {
    const { session } = await this.#findLiving(sessionIdOf(presented))
    const hash = hashOfSecret(presented)
    if (hash === session.tokenHash) {
      const seed = newSeed()
      const refreshToken = nextToken(session.id, seed, presented)
      const toHash = hashOfSecret(refreshToken)
      const rotation = { id: session.id, fromHash: hash, toHash, seed, nowMs: Date.now() }
      if (await this.#store.rotateSession(rotation)) return { session, refreshToken }
      // Another request was first: now the token is the previous one, or the session has ended.
      return this.#rotate(presented, onReuse)
    }
    const isRecent = session.rotatedAtMs !== null && Date.now() - session.rotatedAtMs < graceMs
    if (hash === session.previousHash && isRecent) {
      return { session, refreshToken: nextToken(session.id, session.seed, presented) }
    }
    await this.#store.endSession(session.accountId, session.id, Date.now())
    await onReuse(session)
    const message =
      'this refresh token was used before and may have been copied, so the session has ended; log in again'
    throw new AccountsProblem('refresh-reused', message)
  }

  async #findLiving(id: string): Promise<{ session: SessionRow; account: AccountRow }> {
    const found = await this.#store.findSession(id)
    const isOver =
      found === null ||
      found.session.endedAtMs !== null ||
      found.session.expiresAtMs <= Date.now() ||
      found.account.disabledAtMs !== null
    if (isOver) throw new AccountsProblem('token-revoked', 'the session has ended; log in again')
    return found
  }

  async #bySession(accessToken: string): Promise<Principal & { session: SessionRow }> {
    const { sid, scope } = await this.#verify(accessToken)
    const words = scope.split(' ')
    const granted = scopes.filter(name => words.includes(name))
    return { ...(await this.#findLiving(sid)), token: null, scopes: granted }
  }

  async #byServiceToken(text: string): Promise<Principal> {
    const found = await this.#store.findServiceToken(hashOfSecret(text))
    if (found === null) throw invalid()
    const { token, account } = found
    if (account.disabledAtMs !== null) {
      throw new AccountsProblem('token-revoked', 'the account of this service token is disabled')
    }
    if (token.revokedAtMs !== null) {
      throw new AccountsProblem('token-revoked', 'the service token was revoked; create a new one')
    }
    if (Date.now() >= token.expiresAtMs) {
      throw new AccountsProblem('token-expired', 'the service token has expired; create a new one')
    }
    // A full disk must not end pipelines: a use that cannot be stored is still a use.
    await this.#store.touchServiceToken(token.id, Date.now()).catch(() => {})
    const allowed = scopes.filter(name => name !== 'account' && token.scopes.includes(name))
    return { account, token, session: null, scopes: allowed }
  }

  async #verify(accessToken: string): Promise<z.infer<typeof claims>> {
    try {
      const { payload } = await jwtVerify(accessToken, this.#keys.verifying, {
        algorithms: ['ES256'],
        issuer: this.#issuer,
        audience: this.#issuer,
        typ: 'at+jwt',
        requiredClaims: ['sid', 'scope', 'exp'],
        clockTolerance: clockToleranceSeconds,
      })
      return claims.parse(payload)
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

const claims = z.object({ sid: z.string(), scope: z.string() })

/** What is stored of a token or a code: they are random, so no salt. */
export function hashOfSecret(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function refreshTokenOf(sessionId: string, secret: Buffer): string {
  const id = Buffer.from(sessionId.replaceAll('-', ''), 'hex')
  return refreshTokenPrefix + Buffer.concat([id, secret]).toString('base64url')
}

/** Throws `token-invalid`. */
function sessionIdOf(refreshToken: string): string {
  const bytes = Buffer.from(refreshToken.slice(refreshTokenPrefix.length), 'base64url')
  if (bytes.length !== 48) throw invalid()
  const id = bytes.toString('hex', 0, 16)
  return id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

function newSeed(): string {
  return randomBytes(32).toString('base64url')
}

/** The token after the one presented: the holder of that one, with the seed, can be told it again. */
function nextToken(sessionId: string, seed: string, presented: string): string {
  const key = Buffer.from(seed, 'base64url')
  return refreshTokenOf(sessionId, createHmac('sha256', key).update(presented).digest())
}

function invalid(): AccountsProblem {
  return new AccountsProblem('token-invalid', 'the token is not one of this accounts server')
}

function seconds(timeMs: number): number {
  return Math.floor(timeMs / 1000)
}
