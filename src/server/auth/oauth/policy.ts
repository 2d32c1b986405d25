import { ServiceError } from '../../../lib/errors.ts'
import type { Auth, AuthDeps } from '../auth.ts'
import type { OAuthSettings } from '../settings.ts'

/** Accepts the access tokens of one provider that were issued for this server. */
export async function createOAuthPolicy(settings: OAuthSettings, _deps: AuthDeps): Promise<Auth> {
  throw new ServiceError(
    'config_invalid',
    `tokens of ${settings.issuer} cannot be verified by this version`,
    { hint: 'use --auth api-key' },
  )
}
