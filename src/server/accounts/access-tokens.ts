import { errors, jwtVerify, SignJWT } from 'jose'
import { z } from 'zod'
import type { Clock } from '../../lib/util/time.ts'
import { type Scope, scopes } from '../../lib/accounts/wire.ts'
import { fail, ok, type Result } from '../../lib/util/result.ts'
import type { AccountLimits } from './limits.ts'
import type { KeyStore } from './keys/key-store.ts'

/** What an access token says; who may use it is asked of the store. */
export interface AccessClaims {
  readonly accountId: string
  readonly sessionId: string
  readonly scopes: readonly Scope[]
}

interface NewAccessToken {
  readonly accountId: string
  readonly sessionId: string
  readonly tokenId: string
  /** When the password was given. */
  readonly authenticatedAtMs: number
  readonly issuedAtMs: number
  /** The token never outlives it. */
  readonly sessionExpiresAtMs: number
}

interface IssuedAccessToken {
  readonly token: string
  readonly expiresInSeconds: number
  readonly scope: string
}

/** `early`: issued in the future, so the clock of the server was set back. */
export type AccessFailure = 'invalid' | 'expired' | 'early'

export interface AccessTokens {
  issue(token: NewAccessToken): Promise<IssuedAccessToken>
  verify(token: string): Promise<Result<AccessClaims, AccessFailure>>
  /** The same, for a token that may be expired: it must have been good once. */
  verifyPast(token: string): Promise<Result<AccessClaims, AccessFailure>>
}

const sessionScopes = (['account', 'read', 'publish'] satisfies Scope[]).join(' ')
const clientId = 'service-cli'
/** The library accepts white space around a token. */
const compactForm = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/

const wholeSeconds = z.int().min(0)
const claimsShape = z.object({
  sub: z.string().min(1),
  // One text: a token with a list of audiences may be meant for another server.
  aud: z.string(),
  sid: z.string().min(1),
  jti: z.string().min(1),
  scope: z.string(),
  iat: wholeSeconds,
  exp: wholeSeconds,
  nbf: wholeSeconds.optional(),
})

/** JWTs of the profile RFC 9068, for this accounts server alone. */
export function createAccessTokens(parts: {
  keys: KeySource
  issuer: string
  clock: Clock
  limits: Pick<AccountLimits, 'accessTokenMs' | 'clockToleranceMs' | 'maxTokenChars'>
}): AccessTokens {
  const { keys, issuer, clock, limits } = parts
  const toleranceSeconds = limits.clockToleranceMs / 1000
  const lifeSeconds = Math.floor(limits.accessTokenMs / 1000)

  async function check(token: string): Promise<Result<AccessClaims, AccessFailure>> {
    if (token.length > limits.maxTokenChars || !compactForm.test(token)) return fail('invalid')
    const [, signature] = splitSignature(token)
    if (canonicalSignature(signature) !== signature) return fail('invalid')
    const { payload } = await jwtVerify(
      token,
      ({ kid }) => {
        const key = typeof kid === 'string' ? keys.current().verifying.get(kid) : undefined
        if (key === undefined) throw new errors.JWKSNoMatchingKey()
        return key
      },
      {
        algorithms: ['ES256'],
        issuer,
        audience: issuer,
        typ: 'at+jwt',
        requiredClaims: ['sub', 'jti', 'sid', 'iat', 'exp'],
        clockTolerance: toleranceSeconds,
        // Independent of `exp`.
        maxTokenAge: lifeSeconds + 3600,
        currentDate: new Date(clock.now()),
      },
    )
    return toClaims(payload)
  }

  function toClaims(payload: unknown): Result<AccessClaims, AccessFailure> {
    const parsed = claimsShape.safeParse(payload)
    if (!parsed.success) return fail('invalid')
    const { sub, sid, iat, exp, scope } = parsed.data
    if (exp <= iat || exp - iat > lifeSeconds + 3600) return fail('invalid')
    return ok({
      accountId: sub,
      sessionId: sid,
      scopes: scopes.filter(name => scope.split(' ').includes(name)),
    })
  }

  return {
    async issue({
      accountId,
      sessionId,
      tokenId,
      authenticatedAtMs,
      issuedAtMs,
      sessionExpiresAtMs,
    }) {
      const { kid, alg, key } = keys.current().signing
      const iat = Math.floor(issuedAtMs / 1000)
      const exp = Math.min(iat + lifeSeconds, Math.floor(sessionExpiresAtMs / 1000))
      const token = await new SignJWT({
        client_id: clientId,
        sid: sessionId,
        scope: sessionScopes,
        auth_time: Math.floor(authenticatedAtMs / 1000),
      })
        .setProtectedHeader({ typ: 'at+jwt', alg, kid })
        .setIssuer(issuer)
        .setAudience(issuer)
        .setSubject(accountId)
        .setJti(tokenId)
        .setIssuedAt(iat)
        .setExpirationTime(exp)
        .sign(key)
      const [signed, signature] = splitSignature(token)
      const leftSeconds = exp - Math.floor(clock.now() / 1000)
      return {
        // Signers do not choose between `s` and `order - s`; `check` takes one of the two.
        token: `${signed}.${canonicalSignature(signature)}`,
        expiresInSeconds: Math.max(0, leftSeconds),
        scope: sessionScopes,
      }
    },
    async verify(token) {
      try {
        return await check(token)
      } catch (error) {
        return failureOf(error)
      }
    },
    async verifyPast(token) {
      try {
        return await check(token)
      } catch (error) {
        // Signature, issuer and audience were right: only then its age is looked at.
        return error instanceof errors.JWTExpired && error.claim === 'exp'
          ? toClaims(error.payload)
          : failureOf(error)
      }
    },
  }
}

function splitSignature(token: string): [signed: string, signature: string] {
  const dot = token.lastIndexOf('.')
  return [token.slice(0, dot), token.slice(dot + 1)]
}

function failureOf(error: unknown): Result<never, AccessFailure> {
  if (error instanceof errors.JWTExpired) return fail('expired')
  if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'iat') {
    return fail(error.reason === 'check_failed' ? 'early' : 'invalid')
  }
  if (error instanceof errors.JOSEError) return fail('invalid')
  throw error
}

/** Order of the group of P-256 (FIPS 186-4, D.1.2.3). */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
const halfOrder = order / 2n
const scalarBytes = 32

/**
 * Returns the one spelling of an ES256 signature that this program takes: base64url without spare
 * bits, and the smaller one of `s` and `order - s`, which verify alike. Null for what has another
 * length.
 */
export function canonicalSignature(signature: string): string | null {
  const bytes = Buffer.from(signature, 'base64url')
  if (bytes.length !== 2 * scalarBytes) return null
  const s = BigInt(`0x${bytes.toString('hex', scalarBytes)}`)
  if (s > halfOrder && s < order) {
    bytes.write((order - s).toString(16).padStart(2 * scalarBytes, '0'), scalarBytes, 'hex')
  }
  return bytes.toString('base64url')
}

/** All that a running server needs of the keys: those of this moment, as rotation leaves them. */
export type KeySource = Pick<KeyStore, 'current'>
