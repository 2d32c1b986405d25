import { ServiceError } from '../../lib/errors.ts'
import { apiKeyPolicy, openPolicy } from '../http/authentication.ts'
import type { Auth, AuthDeps } from './auth.ts'
import type { AuthSettings } from './settings.ts'

/**
 * What decides on the requests of one server. Close it when the server has stopped. Throws
 * `config_invalid` for a file of keys that cannot be used: a server never starts open because its
 * keys could not be read.
 */
export async function createAuth(settings: AuthSettings, deps: AuthDeps): Promise<Auth> {
  switch (settings.mode) {
    case 'none':
      return { policy: openPolicy, documents: new Map(), close() {} }
    case 'api-key': {
      if (settings.key === undefined) {
        throw new ServiceError('config_invalid', 'no key is configured')
      }
      return { policy: apiKeyPolicy(settings.key), documents: new Map(), close() {} }
    }
    case 'oauth': {
      // Loaded only then: it brings what verifies tokens.
      const { createOAuthPolicy } = await import('./oauth/policy.ts')
      return createOAuthPolicy(settings, deps)
    }
  }
}
