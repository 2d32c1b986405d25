import { OAuthConfig, parseIssuerUrl } from '../../../lib/auth/oauth-config.ts'
import { bearerToken } from '../../../lib/auth/validate-bearer-token.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { AuthAccepted, AuthOutcome, AuthRefused, Viewer } from '../../http/authentication.ts'
import { clientMetadata, type PublicDocuments } from '../../http/public-routes.ts'
import type { Auth, AuthDeps } from '../auth.ts'
import { FailureLimit } from '../failure-limit.ts'
import type { OAuthSettings } from '../settings.ts'
import { createKeySource } from './key-source.ts'
import { createKeyLoader } from './provider.ts'
import { createTokenVerifier, type TokenRefusal, type Verdict } from './verify-token.ts'
import type { TokenClaims } from './claims.ts'

type OAuthDeps = Pick<AuthDeps, 'mcpUrl' | 'accounts' | 'limits' | 'clock' | 'ticks' | 'log'>

/**
 * The OAuth 2.1 resource server: accepts access tokens that the provider issued for this server,
 * and tells clients where to get them (RFC 9728). Contacts the provider for the first token, so
 * that the server starts while the provider is down. Never forwards a token. Throws
 * `config_invalid` for an unsafe issuer.
 */
export function createOAuthPolicy(settings: OAuthSettings, deps: OAuthDeps): Auth {
  const { mcpUrl, limits, clock, ticks, log } = deps
  const parsed = parseIssuerUrl(settings.issuer)
  if (!parsed.ok) throw new ServiceError('config_invalid', parsed.failure)
  const issuer = parsed.value
  const failures = new FailureLimit(deps)
  const keys = createKeySource({
    load: createKeyLoader({ issuer, limits, ticks }),
    limits,
    ticks,
    log,
  })
  const verifier = createTokenVerifier({
    rules: () => ({ issuer, audience: settings.audience ?? mcpUrl() }),
    keys,
    limits,
    clock,
  })

  function pointTo(scopes: readonly string[]): Pointers {
    const scope = scopes.join(' ') || undefined
    return { resourceMetadata: resourceMetadataUrl(mcpUrl()), scope }
  }

  /** Only tokens that the provider has not signed count as guesses. */
  function decide(verdict: Verdict, peer: string): AuthOutcome {
    const pointers = pointTo(basicScopes(settings))
    if (verdict.ok) {
      const toleranceMs = limits.tokenClockToleranceMs
      const access = decideAccess(verdict.value, { issuer, rules: settings, pointers, toleranceMs })
      return access.ok && deps.accounts !== undefined ? { ...access, viewer: stranger } : access
    }
    const { retryAfterSeconds } = keys
    const refused = refuseToken(verdict.failure, { pointers, retryAfterSeconds })
    return verdict.failure.kind === 'unproven' ? failures.refused(peer, refused) : refused
  }

  const document = (): object =>
    resourceMetadata({ resource: mcpUrl(), issuer, scopes: allScopes(settings) })

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
      refuseWrite: change =>
        insufficient(
          change === 'answer' ? 'this token may not answer notes' : 'this token may only read',
          pointTo(allScopes(settings)),
        ),
    },
    documents: new Map([
      ...resourceMetadataPaths(mcpUrl()).map(path => [path, document] as const),
      ...clientDocument(settings, () => mcpUrl().slice(0, -'/mcp'.length)),
    ]),
    close: () => keys.close(),
  }
}

/** Where users of an accounts server have instances, users of another provider have none. */
const stranger: Viewer = { accountId: null, username: null, team: null, schemes: null }

/** The metadata document of a client, served for the provider. */
function clientDocument(settings: OAuthSettings, baseUrl: () => string): PublicDocuments {
  const { issuer, redirectUri, clientName } = settings
  if (redirectUri === undefined) return new Map()
  const client = new OAuthConfig({
    providerUrl: issuer,
    redirectUri,
    clientName,
    scopes: allScopes(settings),
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

/** `resource` is the URL of the MCP endpoint and the audience of tokens. */
export function resourceMetadata(parts: {
  readonly resource: string
  readonly issuer: string
  readonly scopes: readonly string[]
}): ResourceMetadata {
  return {
    resource: parts.resource,
    authorization_servers: [parts.issuer],
    // Without `offline_access`: refresh tokens concern only the client and the provider.
    ...(parts.scopes.length > 0 && { scopes_supported: parts.scopes }),
    bearer_methods_supported: ['header'],
    resource_name: 'service-cli',
  }
}

/** The primary URL of the document: the well-known path before the path of the resource. */
export function resourceMetadataUrl(resource: string): string {
  const { origin, pathname } = new URL(resource)
  return `${origin}${wellKnown}${pathname === '/' ? '' : pathname}`
}

/** All paths of the document. A proxy may have stripped its prefix. */
export function resourceMetadataPaths(resource: string): readonly string[] {
  const own = new URL(resourceMetadataUrl(resource)).pathname
  return [...new Set([own, `${wellKnown}/mcp`, wellKnown])]
}

interface ScopeRules {
  readonly requiredScope?: string
  readonly writeScope?: string
}

/** Tells a client where to get a token, and with which scopes. */
interface Pointers {
  readonly resourceMetadata: string
  readonly scope: string | undefined
}

/** Scopes that every request needs. */
function basicScopes({ requiredScope }: ScopeRules): readonly string[] {
  return requiredScope === undefined ? [] : [requiredScope]
}

/** All scopes of a request that changes something, so that one login is enough. */
function allScopes({ requiredScope, writeScope }: ScopeRules): readonly string[] {
  return [requiredScope, writeScope].filter(scope => scope !== undefined)
}

/** Decides by the scopes of the token. The write scope includes the required one. */
export function decideAccess(
  claims: TokenClaims,
  parts: { issuer: string; rules: ScopeRules; pointers: Pointers; toleranceMs: number },
): AuthAccepted | AuthRefused {
  const { requiredScope, writeScope } = parts.rules
  const mayWrite = writeScope !== undefined && claims.scopes.includes(writeScope)
  if (requiredScope !== undefined && !mayWrite && !claims.scopes.includes(requiredScope)) {
    return insufficient(`the token does not have the scope ${requiredScope}`, parts.pointers)
  }
  const principal = principalOf(parts.issuer, claims)
  // Streams end when the next request would be refused.
  const expiresAtMs = claims.expiresAtMs + parts.toleranceMs
  return { ok: true, principal, mayWrite, expiresAtMs }
}

/**
 * Identifies a caller by issuer, subject and client: subjects are unique only within an issuer, and
 * clients do not share sessions. Escapes each part to keep names distinct.
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

/** Answers 503, not 401, while the provider is down, so that clients keep their tokens. */
function refuseToken(
  refusal: TokenRefusal,
  parts: { pointers: Pointers; retryAfterSeconds: () => number },
): AuthRefused {
  if (refusal.kind !== 'unavailable') {
    const { description } = refusal
    return { ok: false, status: 401, error: 'invalid_token', description, ...parts.pointers }
  }
  return {
    ok: false,
    status: 503,
    error: 'temporarily_unavailable',
    description: 'cannot check the token: the OAuth provider does not answer; try later',
    retryAfterSeconds: parts.retryAfterSeconds(),
  }
}
