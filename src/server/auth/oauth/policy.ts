import { OAuthConfig, parseIssuerUrl } from '../../../lib/auth/oauth-config.ts'
import { bearerToken } from '../../../lib/auth/validate-bearer-token.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { AuthAccepted, AuthOutcome, AuthRefused } from '../../http/authentication.ts'
import { clientMetadata, type PublicDocuments } from '../../http/public-routes.ts'
import type { Auth, AuthDeps } from '../auth.ts'
import { FailureLimit } from '../failure-limit.ts'
import type { OAuthSettings } from '../settings.ts'
import { createKeySource } from './key-source.ts'
import { createKeyLoader } from './provider.ts'
import { createTokenVerifier, type TokenRefusal, type Verdict } from './verify-token.ts'
import type { TokenClaims } from './claims.ts'

type OAuthDeps = Pick<AuthDeps, 'mcpUrl' | 'limits' | 'clock' | 'ticks' | 'log'>

/**
 * The OAuth 2.1 resource server: takes access tokens that the provider issued for this server, and
 * tells clients where to get them (RFC 9728). The provider is first asked when a token comes: one
 * that is down does not keep the server from starting. A token is judged here and goes no further.
 * Throws `config_invalid` for an issuer that cannot be trusted.
 */
export function createOAuthPolicy(settings: OAuthSettings, deps: OAuthDeps): Auth {
  const { mcpUrl, limits, clock, ticks, log } = deps
  const parsed = parseIssuerUrl(settings.issuer)
  if (!parsed.ok) throw new ServiceError('config_invalid', parsed.failure)
  const issuer = parsed.value
  const failures = new FailureLimit(deps)
  const { otherAudiences = [], tokenType = 'at+jwt' } = settings
  const keys = createKeySource({
    load: createKeyLoader({ issuer, limits, ticks }),
    limits,
    ticks,
    log,
  })
  const verifier = createTokenVerifier({
    rules: () => ({ issuer, audience: settings.audience ?? mcpUrl(), otherAudiences, tokenType }),
    keys,
    limits,
    clock,
  })

  function pointTo(scopes: readonly string[]): Pointers {
    const scope = scopes.join(' ') || undefined
    return { resourceMetadata: resourceMetadataUrl(mcpUrl()), scope }
  }

  /** Only tokens that the provider never made count as guesses. */
  function decide(verdict: Verdict, peer: string): AuthOutcome {
    const pointers = pointTo(basicScopes(settings))
    if (verdict.ok) {
      const toleranceMs = limits.tokenClockToleranceMs
      return decideAccess(verdict.value, { issuer, rules: settings, pointers, toleranceMs })
    }
    const { retryAfterSeconds } = keys
    const refused = refuseToken(verdict.failure, { pointers, retryAfterSeconds })
    return verdict.failure.kind === 'unproven' ? failures.refused(peer, refused) : refused
  }

  const document = (): object =>
    resourceMetadata({ resource: mcpUrl(), issuer, scopes: basicScopes(settings) })

  return {
    policy: {
      authenticate({ headers, peer }) {
        const sent = headers.authorization
        const token = bearerToken(sent)
        if (token === null) {
          const refused = tokenMissing(sent !== undefined, pointTo(basicScopes(settings)))
          return sent === undefined ? refused : failures.refused(peer, refused)
        }
        const verdict = verifier.verify(token)
        return verdict instanceof Promise
          ? verdict.then(settled => decide(settled, peer))
          : decide(verdict, peer)
      },
      refuseWrite: () =>
        insufficient(
          'this token may read, and this request would change something',
          pointTo(writeScopes(settings)),
        ),
    },
    documents: new Map([
      ...resourceMetadataPaths(mcpUrl()).map(path => [path, document] as const),
      ...clientDocument(settings, () => mcpUrl().slice(0, -'/mcp'.length)),
    ]),
    close: () => keys.close(),
  }
}

/** Of a client that this server describes to the provider; nothing here depends on it. */
function clientDocument(settings: OAuthSettings, baseUrl: () => string): PublicDocuments {
  const { issuer, redirectUri, clientName } = settings
  if (redirectUri === undefined) return new Map()
  const client = new OAuthConfig({
    providerUrl: issuer,
    redirectUri,
    clientName,
    scopes: basicScopes(settings),
  })
  return clientMetadata(client, baseUrl)
}

/** RFC 9728, for the MCP endpoint as a resource. */
interface ResourceMetadata {
  readonly resource: string
  readonly authorization_servers: readonly string[]
  readonly scopes_supported?: readonly string[]
  readonly bearer_methods_supported: readonly string[]
  readonly resource_name: string
}

const wellKnown = '/.well-known/oauth-protected-resource'

/** `resource` is the URL that clients use for MCP, tokens name it as their audience. */
export function resourceMetadata(parts: {
  readonly resource: string
  readonly issuer: string
  readonly scopes: readonly string[]
}): ResourceMetadata {
  return {
    resource: parts.resource,
    authorization_servers: [parts.issuer],
    // Without `offline_access`: whether a client stays logged in is between it and the provider.
    ...(parts.scopes.length > 0 && { scopes_supported: parts.scopes }),
    bearer_methods_supported: ['header'],
    resource_name: 'service-cli',
  }
}

/** Where clients look first: the path of the resource behind the well-known one. */
export function resourceMetadataUrl(resource: string): string {
  const { origin, pathname } = new URL(resource)
  return `${origin}${wellKnown}${pathname === '/' ? '' : pathname}`
}

/** All paths that answer with the document. A proxy may have taken its own prefix away. */
export function resourceMetadataPaths(resource: string): readonly string[] {
  const own = new URL(resourceMetadataUrl(resource)).pathname
  return [...new Set([own, `${wellKnown}/mcp`, wellKnown])]
}

interface ScopeRules {
  readonly requiredScope?: string | undefined
  readonly writeScope?: string | undefined
}

/** What answers tell a client that has to get a token: where, and with which scopes. */
interface Pointers {
  readonly resourceMetadata: string
  readonly scope: string | undefined
}

/** Scopes that any use of this server needs: what clients should ask their provider for. */
function basicScopes({ requiredScope }: ScopeRules): readonly string[] {
  return requiredScope === undefined ? [] : [requiredScope]
}

/** All scopes of a request that changes something: told at once, so that one more login is enough. */
function writeScopes({ requiredScope, writeScope }: ScopeRules): readonly string[] {
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

function insufficient(description: string, pointers: Pointers): AuthRefused {
  return { ok: false, status: 403, error: 'insufficient_scope', description, ...pointers }
}

function tokenMissing(wasSent: boolean, pointers: Pointers): AuthRefused {
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
function refuseToken(
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
