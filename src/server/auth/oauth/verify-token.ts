import { hash } from 'node:crypto'
import { compactVerify, errors } from 'jose'
import type { Clock } from '../../../lib/util/time.ts'
import { type Result, fail, ok } from '../../../lib/util/result.ts'
import type { AuthLimits } from '../limits.ts'
import { type ClaimRules, readClaims, timeFailure, type TokenClaims } from './claims.ts'
import type { KeySource } from './key-source.ts'
import { readToken } from './token-form.ts'

/**
 * `unproven`: not signed by the provider. `unfit`: signed, but expired or not for this server.
 * `unavailable`: cannot be checked because the provider is down.
 */
export type TokenRefusal =
  | { readonly kind: 'unproven' | 'unfit'; readonly description: string }
  | { readonly kind: 'unavailable' }

export type Verdict = Result<TokenClaims, TokenRefusal>

interface TokenVerifier {
  /** Returns synchronously for a cached token. */
  verify(token: string): Verdict | Promise<Verdict>
}

type VerifierLimits = Pick<
  AuthLimits,
  'maxAccessTokenChars' | 'maxSubjectChars' | 'tokenClockToleranceMs' | 'maxVerifiedTokens'
>

/** Checks form, key, signature, claims and time, in this order. */
export function createTokenVerifier(parts: {
  keys: KeySource
  rules: () => Omit<ClaimRules, 'maxSubjectChars'>
  limits: VerifierLimits
  /** Wall-clock time, as in tokens. */
  clock: Clock
}): TokenVerifier {
  const { keys, limits, clock } = parts
  /** Claims of verified tokens by digest, valid for one key set. */
  const verified = new Map<string, TokenClaims>()
  let verifiedUnder: string | null = null

  function remembered(digest: string): TokenClaims | undefined {
    return isCurrent(keys.mark()) ? verified.get(digest) : undefined
  }

  function remember(digest: string, claims: TokenClaims, mark: string): void {
    // A newer key set may no longer contain the key.
    if (limits.maxVerifiedTokens === 0 || mark !== keys.mark() || !isCurrent(mark)) return
    if (verified.size >= limits.maxVerifiedTokens) {
      const [oldest = ''] = verified.keys()
      verified.delete(oldest)
    }
    verified.set(digest, claims)
  }

  /** Clears the cache when the key set has changed. */
  function isCurrent(mark: string | null): boolean {
    if (mark === null) return false
    if (mark !== verifiedUnder) verified.clear()
    verifiedUnder = mark
    return true
  }

  function inTime(claims: TokenClaims): Verdict {
    const failure = timeFailure(claims, clock.now(), limits.tokenClockToleranceMs)
    return failure === null ? ok(claims) : unfit(failure)
  }

  async function prove(token: string, digest: string): Promise<Verdict> {
    const rules = parts.rules()
    const form = readToken(token, limits)
    if (!form.ok) return unproven(form.failure)
    const { alg, kid } = form.value
    const found = await keys.find(alg, kid)
    if (!found.ok) {
      if (found.failure === 'unavailable') return fail({ kind: 'unavailable' })
      return unproven('the token is not signed with a key of the provider')
    }
    const { key, mark } = found.value
    try {
      await compactVerify(token, key, { algorithms: [alg] })
    } catch (error) {
      if (error instanceof errors.JOSEError || error instanceof TypeError) {
        return unproven('the token has an invalid signature')
      }
      throw error
    }
    const claims = readClaims(form.value.claims, { ...rules, ...limits })
    if (!claims.ok) return unfit(claims.failure)
    const verdict = inTime(claims.value)
    if (verdict.ok) remember(digest, claims.value, mark)
    return verdict
  }

  return {
    verify(token) {
      const digest = hash('sha256', token, 'base64')
      const claims = remembered(digest)
      return claims === undefined ? prove(token, digest) : inTime(claims)
    },
  }
}

function unproven(description: string): Verdict {
  return fail({ kind: 'unproven', description })
}

function unfit(description: string): Verdict {
  return fail({ kind: 'unfit', description })
}
