import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify, type JWTVerifyGetKey } from 'jose'
import { z } from 'zod'
import { isSafeFetchUrl, OAuthConfig, parseIssuerUrl } from '../../lib/auth/oauth-config.ts'
import { bearerToken } from '../../lib/auth/validate-bearer-token.ts'
import { messageOf, ServiceError } from '../../lib/util/errors.ts'
import type { AuthOutcome, AuthRefused, Viewer } from '../http/authentication.ts'
import { clientMetadata, type PublicDocuments } from '../http/public-routes.ts'
import type { Auth, AuthDeps, OAuthSettings } from './auth.ts'
import { FailureLimit } from './failure-limit.ts'

/** Only asymmetric ones: with HS256 the public key of the provider would sign tokens. */
const algorithms = 'ES256 ES384 ES512 EdDSA Ed25519 PS256 PS384 PS512 RS256 RS384 RS512'.split(' ')
const clockToleranceSeconds = 5
const requestMs = 5000
/** An unknown key id causes at most one request to the provider in this time. */
const unknownKeyCooldownMs = 5000
const retryAfterSeconds = 5
const wellKnown = '/.well-known/oauth-protected-resource'

/** The provider cannot be asked for its keys. */
class ProviderUnavailable extends Error {}

/**
 * The OAuth 2.1 resource server: accepts access tokens that the provider issued for this server,
 * and tells clients where to get them (RFC 9728). Contacts the provider for the first token, so
 * that the server starts while the provider is down. Never forwards a token. Throws
 * `config_invalid` for an unsafe issuer.
 */
export function createOAuth(settings: OAuthSettings, deps: AuthDeps): Auth {
  const { mcpUrl, log, accounts, failures = new FailureLimit() } = deps
  const parsed = parseIssuerUrl(settings.issuer)
  if (!parsed.ok) throw new ServiceError('config_invalid', parsed.failure)
  const issuer = parsed.value
  const { requiredScope, writeScope } = settings
  const allScopes = [requiredScope, writeScope].filter(scope => scope !== undefined)
  const keys = createProviderKeys(issuer)

  /** Tells a client where to get a token, and with which scopes. */
  function pointers(scopes: readonly string[]): Pick<AuthRefused, 'resourceMetadata' | 'scope'> {
    return { resourceMetadata: metadataUrl(mcpUrl()), scope: scopes.join(' ') || undefined }
  }

  function refuse(description: string, error?: AuthRefused['error']): AuthRefused {
    const scopes = requiredScope === undefined ? [] : [requiredScope]
    return { ok: false, status: 401, error, description, ...pointers(scopes) }
  }

  function insufficient(description: string, scopes: readonly string[]): AuthRefused {
    return { ok: false, status: 403, error: 'insufficient_scope', description, ...pointers(scopes) }
  }

  function accept(claims: JWTPayload): AuthOutcome {
    const { sub, exp = 0 } = claims
    if (typeof sub !== 'string') {
      return refuse('the claim sub of the token is missing or invalid', 'invalid_token')
    }
    const scopes = scopesOf(claims)
    const mayWrite = writeScope !== undefined && scopes.includes(writeScope)
    // Writing includes reading.
    if (requiredScope !== undefined && !scopes.includes(requiredScope) && !mayWrite) {
      return insufficient(`the token does not have the scope ${requiredScope}`, [requiredScope])
    }
    // Escaped, so that distinct names stay distinct.
    const client = claims['client_id'] ?? claims['azp']
    const names = [sub, ...(typeof client === 'string' ? [client] : [])]
    const principal = [issuer, ...names.map(escaped)].join(' ')
    const viewer = accounts === undefined ? undefined : stranger
    const expiresAtMs = (exp + clockToleranceSeconds) * 1000
    return { ok: true, principal, mayWrite, expiresAtMs, viewer }
  }

  async function authenticate(token: string, peer: string): Promise<AuthOutcome> {
    const audience = settings.audience ?? mcpUrl()
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer,
        audience,
        algorithms,
        typ: 'at+jwt',
        requiredClaims: ['sub', 'exp', 'iat'],
        clockTolerance: clockToleranceSeconds,
      })
      return accept(payload)
    } catch (error) {
      if (error instanceof ProviderUnavailable) {
        log.warn({ err: error }, 'no token can be checked: the OAuth provider does not answer')
        return unavailable
      }
      const refused = refuse(describe(error, audience), 'invalid_token')
      // A token that the provider has signed is no guess.
      const isSigned =
        error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed
      return isSigned ? refused : failures.refused(peer, refused)
    }
  }

  const document = (): object => ({
    resource: mcpUrl(),
    authorization_servers: [issuer],
    // Without `offline_access`: refresh tokens concern only the client and the provider.
    ...(allScopes.length > 0 && { scopes_supported: allScopes }),
    bearer_methods_supported: ['header'],
    resource_name: 'service-cli',
  })
  // A proxy may have stripped its prefix.
  const paths = new Set([new URL(metadataUrl(mcpUrl())).pathname, `${wellKnown}/mcp`, wellKnown])

  return {
    policy: {
      authenticate({ headers, peer }) {
        const sent = headers.authorization
        if (sent === undefined) return refuse('an access token of the OAuth provider is required')
        const token = bearerToken(sent)
        if (token !== null) return authenticate(token, peer)
        const description = 'the Authorization header must be "Bearer <token>"'
        return failures.refused(peer, refuse(description, 'invalid_token'))
      },
      refuseWrite: change =>
        insufficient(
          change === 'answer' ? 'this token may not answer notes' : 'this token may only read',
          allScopes,
        ),
    },
    documents: new Map([
      ...Array.from(paths, path => [path, document] as const),
      ...clientDocument(settings, allScopes, () => mcpUrl().slice(0, -'/mcp'.length)),
    ]),
    close() {},
  }
}

/** Where users of an accounts server have instances, users of another provider have none. */
const stranger: Viewer = { accountId: null, username: null, team: null, schemes: null }

/** 503, not 401, so that clients keep their tokens. */
const unavailable: AuthRefused = {
  ok: false,
  status: 503,
  error: 'temporarily_unavailable',
  description: 'cannot check the token: the OAuth provider does not answer; try later',
  retryAfterSeconds,
}

/** The public keys of the provider, whose metadata are read with the first token. */
function createProviderKeys(issuer: string): JWTVerifyGetKey {
  let discovered: Promise<JWTVerifyGetKey> | null = null

  async function discover(): Promise<JWTVerifyGetKey> {
    const url = await findKeySet(issuer)
    return createRemoteJWKSet(url, {
      timeoutDuration: requestMs,
      cooldownDuration: unknownKeyCooldownMs,
    })
  }

  return async (header, token) => {
    try {
      discovered ??= discover()
      const keys = await discovered.catch(error => {
        discovered = null
        throw error
      })
      return await keys(header, token)
    } catch (error) {
      const isRefusal =
        error instanceof errors.JWKSNoMatchingKey ||
        error instanceof errors.JWKSMultipleMatchingKeys ||
        error instanceof errors.JOSENotSupported
      throw isRefusal ? error : new ProviderUnavailable(messageOf(error), { cause: error })
    }
  }
}

/** The `jwks_uri` in the metadata of the provider (RFC 8414, else OpenID Connect Discovery). */
async function findKeySet(issuer: string): Promise<URL> {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/+$/, '')
  // Otherwise one tenant of a host could impersonate another (RFC 8414, section 3.3).
  const metadata = z.object({ issuer: z.literal(issuer), jwks_uri: z.url() })
  let failure: unknown
  for (const url of [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ]) {
    try {
      const signal = AbortSignal.timeout(requestMs)
      const answer = await fetch(url, { redirect: 'error', signal })
      if (!answer.ok) throw new Error(`${url} answers with status ${answer.status}`)
      const keySet = new URL(metadata.parse(await answer.json()).jwks_uri)
      if (isSafeFetchUrl(keySet)) return keySet
      throw new Error(`the jwks_uri of ${url} is not https`)
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

/** RFC 9068 has a string in `scope`; some providers use a list, or `scp`. */
function scopesOf({ scope, scp }: JWTPayload): readonly string[] {
  return [scope, scp].flat().flatMap(part => (typeof part === 'string' ? part.split(' ') : []))
}

function escaped(name: string): string {
  return encodeURIComponent(name.toWellFormed())
}

/** The reason for the client. */
function describe(error: unknown, audience: string): string {
  if (error instanceof errors.JWTExpired) return 'the token has expired'
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'aud') {
      return `the token is not for this server: its audience (aud) must contain ${audience}`
    }
    if (error.claim === 'iss') return 'the token is from another issuer'
    if (error.claim === 'typ') return 'the token is not marked as an access token (typ "at+jwt")'
    return `the claim ${error.claim} of the token is missing or invalid`
  }
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return 'the token is not signed with an accepted algorithm'
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return 'the token has an invalid signature'
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    return 'the token is not signed with a key of the provider'
  }
  return 'the token is not a signed JWT of the provider; opaque and encrypted tokens are not supported'
}

/** The URL of the resource metadata: the well-known path before the path of the resource. */
function metadataUrl(resource: string): string {
  const { origin, pathname } = new URL(resource)
  return `${origin}${wellKnown}${pathname}`
}

/** The metadata document of a client, served for the provider. */
function clientDocument(
  { issuer, redirectUri, clientName }: OAuthSettings,
  scopes: readonly string[],
  baseUrl: () => string,
): PublicDocuments {
  if (redirectUri === undefined) return new Map()
  const client = new OAuthConfig({ providerUrl: issuer, redirectUri, clientName, scopes })
  return clientMetadata(client, baseUrl)
}
