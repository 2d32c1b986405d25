import { parseIssuerUrl } from '../../../lib/auth/issuer-url.ts'
import { bearerToken } from '../../../lib/auth/bearer-token.ts'
import { OAuthConfig } from '../../../lib/auth/oauth-config.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { AuthOutcome } from '../../http/authentication.ts'
import { clientMetadata } from '../../http/client-metadata.ts'
import type { PublicDocuments } from '../../http/public-routes.ts'
import type { Auth, AuthDeps } from '../auth.ts'
import { FailureLimit } from '../failure-limit.ts'
import type { OAuthSettings } from '../settings.ts'
import {
  basicScopes,
  decideAccess,
  insufficient,
  type Pointers,
  refuseToken,
  tokenMissing,
  writeScopes,
} from './access.ts'
import { createKeySource } from './key-source.ts'
import { createKeyLoader } from './provider.ts'
import {
  resourceMetadata,
  resourceMetadataPaths,
  resourceMetadataUrl,
} from './resource-metadata.ts'
import { createTokenVerifier, type Verdict } from './verify-token.ts'

export type OAuthDeps = Pick<AuthDeps, 'mcpUrl' | 'limits' | 'clock' | 'ticks' | 'log'>

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
    const scope = scopes.join(' ')
    return { resourceMetadata: resourceMetadataUrl(mcpUrl()), ...(scope !== '' && { scope }) }
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
    ...(clientName !== undefined && { clientName }),
    scopes: basicScopes(settings),
  })
  return clientMetadata(client, baseUrl)
}
