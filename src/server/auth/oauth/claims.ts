import type { JsonObject } from '../../../lib/util/json.ts'
import { type Result, fail, ok } from '../../../lib/util/result.ts'

/** The claims of a token with a valid signature. */
export interface TokenClaims {
  readonly subject: string
  readonly clientId: string | null
  readonly scopes: readonly string[]
  readonly issuedAtMs: number
  readonly notBeforeMs: number
  readonly expiresAtMs: number
}

export interface ClaimRules {
  readonly issuer: string
  /** The audience that names this server. */
  readonly audience: string
  readonly maxSubjectChars: number
}

/** The last second of the year 9999. */
const maxSeconds = 253_402_300_799

/**
 * Reads the claims of an access token (RFC 9068). The failure is shown to the client. Checks only
 * the form of times; `timeFailure` compares them with the clock.
 */
export function readClaims(claims: JsonObject, rules: ClaimRules): Result<TokenClaims, string> {
  const { iss, sub, aud, exp, iat, nbf } = claims
  if (iss !== rules.issuer) return fail('the token is from another issuer')
  const audiences: unknown[] = Array.isArray(aud) ? aud : [aud]
  if (!audiences.includes(rules.audience)) {
    return fail(
      `the token is not for this server: its audience (aud) must contain ${rules.audience}`,
    )
  }
  if (!isName(sub, rules.maxSubjectChars)) return fail('the token has no valid subject (sub)')
  const clientId = claims['client_id'] ?? claims['azp'] ?? null
  if (clientId !== null && !isName(clientId, rules.maxSubjectChars)) {
    return fail('the token has an invalid client (client_id)')
  }
  if (!isSeconds(exp)) return fail('the token has no valid expiry time (exp)')
  if (!isSeconds(iat)) return fail('the token has no valid issue time (iat)')
  if (nbf !== undefined && !isSeconds(nbf)) return fail('the token has an invalid start time (nbf)')
  if (exp <= iat) return fail('the token expires before it was issued')
  const scopes = readScopes(claims)
  if (scopes === null) return fail('the scopes of the token are not strings')
  return ok({
    subject: sub,
    clientId,
    scopes,
    issuedAtMs: iat * 1000,
    notBeforeMs: (nbf ?? iat) * 1000,
    expiresAtMs: exp * 1000,
  })
}

/** Why the token is not valid now, or null. Checked on every request. */
export function timeFailure(
  claims: Pick<TokenClaims, 'issuedAtMs' | 'notBeforeMs' | 'expiresAtMs'>,
  nowMs: number,
  toleranceMs: number,
): string | null {
  if (nowMs >= claims.expiresAtMs + toleranceMs) return 'the token has expired'
  if (Math.max(claims.issuedAtMs, claims.notBeforeMs) > nowMs + toleranceMs) {
    return 'the token is not valid yet: compare the clocks of this server and of the provider'
  }
  return null
}

/** RFC 9068 has a string in `scope`; some providers use a list, or `scp`. */
function readScopes(claims: JsonObject): string[] | null {
  const found: string[] = []
  for (const value of [claims['scope'], claims['scp']]) {
    if (value === undefined) continue
    const list: unknown[] = Array.isArray(value) ? value : [value]
    for (const part of list) {
      if (typeof part !== 'string') return null
      found.push(...part.split(' ').filter(scope => scope !== ''))
    }
  }
  return found
}

function isName(value: unknown, maxChars: number): value is string {
  return (
    typeof value === 'string' && value !== '' && value.length <= maxChars && value.isWellFormed()
  )
}

function isSeconds(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= maxSeconds
}
