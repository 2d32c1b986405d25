import { type AuthPolicy, anonymous, openPolicy } from '../http/authentication.ts'
import type { NamedKeys } from './named-keys.ts'

/**
 * Allows every caller until the keys file holds a key or becomes unusable; then `keyed` decides and
 * open streams of callers without a key are cut.
 */
export function createOpenUntilKey(
  named: Pick<NamedKeys, 'isUnchanged' | 'isAsked' | 'look' | 'onAsked'>,
  keyed: AuthPolicy,
): AuthPolicy {
  const current = (): AuthPolicy => (named.isAsked ? keyed : openPolicy)
  return {
    authenticate(caller) {
      if (named.isUnchanged()) return current().authenticate(caller)
      return named.look().then(() => current().authenticate(caller))
    },
    onRevoked(listener) {
      const stops = [keyed.onRevoked?.(listener), named.onAsked(() => listener(anonymous))]
      return () => stops.forEach(stop => stop?.())
    },
  }
}
