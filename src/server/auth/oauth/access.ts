import type { AuthAccepted, AuthRefused } from '../../http/authentication.ts'
import type { TokenClaims } from './claims.ts'
import type { TokenRefusal } from './verify-token.ts'

export interface ScopeRules {
  readonly requiredScope?: string | undefined
  readonly writeScope?: string | undefined
}

/** What answers tell a client that has to get a token: where, and with which scopes. */
export interface Pointers {
  readonly resourceMetadata: string
  readonly scope?: string
}

/** Scopes that any use of this server needs: what clients should ask their provider for. */
export function basicScopes({ requiredScope }: ScopeRules): readonly string[] {
  return requiredScope === undefined ? [] : [requiredScope]
}

/** All scopes of a request that changes something: told at once, so that one more login is enough. */
export function writeScopes({ requiredScope, writeScope }: ScopeRules): readonly string[] {
  return [requiredScope, writeScope].filter(scope => scope !== undefined)
}

/** Does the token reach? The greater scope holds the smaller one. */
export function decideAccess(
  claims: TokenClaims,
  parts: {
    readonly issuer: string
    readonly rules: ScopeRules
    readonly pointers: Pointers
    readonly toleranceMs: number
  },
): AuthAccepted | AuthRefused {
  const { requiredScope, writeScope } = parts.rules
  const mayWrite = writeScope !== undefined && claims.scopes.includes(writeScope)
  if (requiredScope !== undefined && !mayWrite && !claims.scopes.includes(requiredScope)) {
    return insufficient(`the token does not have the scope ${requiredScope}`, parts.pointers)
  }
  const principal = principalOf(parts.issuer, claims)
  // Streams end when the next request would be refused, not before.
  return { ok: true, principal, mayWrite, expiresAtMs: claims.expiresAtMs + parts.toleranceMs }
}

/**
 * Subjects are unique at their issuer alone, and one person's clients do not share sessions. Each
 * part is escaped, so that no two callers have the same name.
 */
export function principalOf(
  issuer: string,
  { subject, clientId }: Pick<TokenClaims, 'subject' | 'clientId'>,
): string {
  const client = clientId === null ? '' : ` ${encodeURIComponent(clientId)}`
  return `${issuer} ${encodeURIComponent(subject)}${client}`
}

export function insufficient(description: string, pointers: Pointers): AuthRefused {
  return { ok: false, status: 403, error: 'insufficient_scope', description, ...pointers }
}

export function tokenMissing(wasSent: boolean, pointers: Pointers): AuthRefused {
  const description = wasSent
    ? 'the Authorization header must be "Bearer <token>"'
    : 'an access token of the OAuth provider is required'
  return {
    ok: false,
    status: 401,
    description,
    ...(wasSent && { error: 'invalid_token' }),
    ...pointers,
  }
}

/** A provider that is down is no reason for a client to throw its token away: 503, not 401. */
export function refuseToken(
  refusal: TokenRefusal,
  parts: { readonly pointers: Pointers; readonly retryAfterSeconds: () => number },
): AuthRefused {
  if (refusal.kind !== 'unavailable') {
    const { description } = refusal
    return { ok: false, status: 401, error: 'invalid_token', description, ...parts.pointers }
  }
  return {
    ok: false,
    status: 503,
    error: 'temporarily_unavailable',
    description: 'the OAuth provider does not answer, so the token cannot be checked; try later',
    retryAfterSeconds: parts.retryAfterSeconds(),
  }
}
