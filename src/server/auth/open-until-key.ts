import { type AuthPolicy, anonymous, openPolicy } from '../http/authentication.ts'
import type { NamedKeys } from './named-keys.ts'

/**
 * Lets every caller in until the file of keys holds one, or cannot be used; then `keyed` decides
 * and what callers without a key have open is cut.
 */
export function createOpenUntilKey(
  named: Pick<NamedKeys, 'isFresh' | 'isAsked' | 'look' | 'onAsked'>,
  keyed: AuthPolicy,
): AuthPolicy {
  const current = (): AuthPolicy => (named.isAsked ? keyed : openPolicy)
  return {
    authenticate(caller) {
      if (named.isFresh) return current().authenticate(caller)
      return named.look().then(() => current().authenticate(caller))
    },
    onRevoked(listener) {
      const stops = [keyed.onRevoked?.(listener), named.onAsked(() => listener(anonymous))]
      return () => stops.forEach(stop => stop?.())
    },
  }
}
