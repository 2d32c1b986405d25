import { clientMetadataPath } from '../../lib/auth/client-metadata-url.ts'
import type { OAuthConfig } from '../../lib/auth/oauth-config.ts'
import type { PublicDocuments } from './public-routes.ts'

/**
 * The metadata document of the OAuth client that `oauth` describes, below the address at which
 * clients reach this server. Without any redirect URI there is none to serve.
 */
export function clientMetadata(oauth: OAuthConfig, baseUrl: () => string | null): PublicDocuments {
  const read = () =>
    oauth.redirectUri === null ? null : oauth.toCimdDocument({ publicUrl: baseUrl() }).toDict()
  return new Map([[clientMetadataPath, read]])
}
