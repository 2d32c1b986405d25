import { OAuthConfig } from '../lib/auth/oauth-config.ts'
import type { AuthSettings } from './auth/settings.ts'

/** The OAuth client whose metadata document the settings ask for; null where they ask for none. */
export function oauthClientOf(settings: AuthSettings | undefined): OAuthConfig | null {
  if (settings?.mode !== 'oauth' || settings.redirectUri === undefined) return null
  const { issuer, requiredScope, writeScope, clientName, redirectUri } = settings
  const scopes = [requiredScope, writeScope].filter(scope => scope !== undefined)
  return new OAuthConfig({
    providerUrl: issuer,
    scopes: [...new Set(scopes)],
    redirectUri,
    ...(clientName === undefined ? {} : { clientName }),
  })
}
