import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify, type JWTVerifyGetKey } from 'jose'
import { z } from 'zod'
import { OAuthConfig } from '../../lib/auth/oauth-config.ts'
import { bearerToken } from '../../lib/auth/validate-bearer-token.ts'
import { isExposed } from '../../lib/util/net.ts'
import {
  type AuthOutcome,
  type AuthRefused,
  cannotCheck,
  refuse,
  type Viewer,
} from '../http/authentication.ts'
import { clientMetadata } from '../http/public-routes.ts'
import type { Auth, AuthDeps, OAuthSettings } from './auth.ts'
import { FailureLimit } from './failure-limit.ts'

/** Only asymmetric ones: with HS256 the public key of the provider would sign tokens. */
const algorithms = 'ES256 ES384 ES512 EdDSA Ed25519 PS256 PS384 PS512 RS256 RS384 RS512'.split(' ')
const clockToleranceSeconds = 5
const requestMs = 5000
const wellKnown = '/.well-known/oauth-protected-resource'

/** Where users of an accounts server have instances, users of another provider have none. */
const unknownViewer: Viewer = { accountId: null, username: null, team: null, schemes: null }

/**
 * The OAuth 2.1 resource server: accepts access tokens that the provider issued for this server,
 * and tells clients where to get them (RFC 9728). Contacts the provider for the first token, so
 * that the server starts while the provider is down. Never forwards a token.
 */
export function createOAuth(settings: OAuthSettings, deps: AuthDeps): Auth {
  const { mcpUrl, log, accounts, failures = new FailureLimit() } = deps
  const { issuer, requiredScope, writeScope, redirectUri, clientName } = settings
  const scopes = [requiredScope, writeScope].filter(scope => scope !== undefined)
  const keys = createProviderKeys(issuer)
  let isDown = false

  /** Tells the client where to get a token, and with which scopes. */
  function refuseToken(error: AuthRefused['error'], description: string, scope = requiredScope) {
    const status = error === 'insufficient_scope' ? 403 : 401
    return refuse(status, error, description, { scope, resourceMetadata: metadataUrl(mcpUrl()) })
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
      isDown = false
      return accept(payload)
    } catch (error) {
      if (!isOfToken(error)) {
        if (!isDown)
          log.warn({ err: error }, 'no token can be checked: the provider does not answer')
        isDown = true
        return cannotCheck('the OAuth provider')
      }
      const isExpired = error instanceof errors.JWTExpired
      const hint = error.message.includes('"aud"') ? `; it must contain ${audience}` : ''
      const what = isExpired ? 'it has expired' : error.message + hint
      const refused = refuseToken('invalid_token', `the token is invalid: ${what}`)
      // A token that the provider has signed is no guess.
      const isSigned = isExpired || error instanceof errors.JWTClaimValidationFailed
      return isSigned ? refused : failures.refused(peer, refused)
    }
  }

  function accept(claims: JWTPayload): AuthOutcome {
    const { sub, exp = 0, client_id: client = claims['azp'] } = claims
    const granted = scopesOf(claims)
    const mayWrite = writeScope !== undefined && granted.includes(writeScope)
    // Writing includes reading.
    if (requiredScope !== undefined && !granted.includes(requiredScope) && !mayWrite) {
      return refuseToken('insufficient_scope', `the token does not have the scope ${requiredScope}`)
    }
    return {
      ok: true,
      // JSON, so that distinct names stay distinct.
      principal: `${issuer} ${JSON.stringify([sub, client])}`,
      mayWrite,
      expiresAtMs: (exp + clockToleranceSeconds) * 1000,
      viewer: accounts === undefined ? undefined : unknownViewer,
    }
  }

  const document = (): object => ({
    resource: mcpUrl(),
    authorization_servers: [issuer],
    // Without `offline_access`: refresh tokens concern only the client and the provider.
    ...(scopes.length > 0 && { scopes_supported: scopes }),
    bearer_methods_supported: ['header'],
    resource_name: 'service-cli',
  })
  // A proxy may have stripped its prefix.
  const paths = new Set([new URL(metadataUrl(mcpUrl())).pathname, `${wellKnown}/mcp`, wellKnown])
  const client = new OAuthConfig({ providerUrl: issuer, redirectUri, clientName, scopes })

  return {
    policy: {
      authenticate({ headers, peer }) {
        const sent = headers.authorization
        const token = bearerToken(sent)
        if (token !== null) return authenticate(token, peer)
        if (sent === undefined) {
          return refuseToken(undefined, 'an access token of the OAuth provider is required')
        }
        const description = 'the Authorization header must be "Bearer <token>"'
        return failures.refused(peer, refuseToken('invalid_token', description))
      },
      refuseWrite() {
        // All scopes, so that one login is enough.
        const all = scopes.join(' ') || undefined
        return refuseToken('insufficient_scope', 'this token may only read', all)
      },
    },
    documents: new Map([
      ...Array.from(paths, path => [path, document] as const),
      ...clientMetadata(client, () => mcpUrl().slice(0, -'/mcp'.length)),
    ]),
    close() {},
  }
}

/** The URL of the resource metadata: the well-known path before the path of the resource. */
function metadataUrl(resource: string): string {
  const { origin, pathname } = new URL(resource)
  return `${origin}${wellKnown}${pathname}`
}

/** RFC 9068 has a string in `scope`; some providers use a list, or `scp`. */
function scopesOf({ scope, scp }: JWTPayload): readonly string[] {
  return [scope, scp].flat().flatMap(part => (typeof part === 'string' ? part.split(' ') : []))
}

/** The public keys of the provider, whose metadata are read with the first token. */
function createProviderKeys(issuer: string): JWTVerifyGetKey {
  let keySet: Promise<JWTVerifyGetKey> | null = null

  return async (header, token) => {
    keySet ??= findKeySet(issuer).then(url => createRemoteJWKSet(url))
    const keys = await keySet.catch(error => {
      keySet = null
      throw error
    })
    return keys(header, token)
  }
}

/** Errors of jose that concern the keys of the provider; all others concern the token. */
const ofProvider = [errors.JOSEError, errors.JWKSTimeout, errors.JWKSInvalid].map(each => each.code)

function isOfToken(error: unknown): error is errors.JOSEError {
  return error instanceof errors.JOSEError && !ofProvider.includes(error.code)
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
      const keySet = new URL(metadata.parse(await answer.json()).jwks_uri)
      // Else they could be replaced on the way.
      if (!isExposed(keySet)) return keySet
      throw new Error(`the jwks_uri of ${url} is not https`)
    } catch (error) {
      failure = error
    }
  }
  throw failure
}
