import { openPolicy } from '../http/authentication.ts'
import type { Auth, AuthDeps } from './auth.ts'
import { FailureLimit } from './failure-limit.ts'
import { createKeyPolicy } from './key-policy.ts'
import { NamedKeys } from './named-keys.ts'
import { createOpenUntilKey } from './open-until-key.ts'
import type { ApiKeySettings, AuthSettings } from './settings.ts'

/** Shorter keys can be guessed in spite of the failure limit. */
const guessableChars = 16

/**
 * What decides on the requests of one server. Close it when the server has stopped. Throws
 * `config_invalid` for a file of keys that cannot be used: a server never starts open because its
 * keys could not be read.
 */
export async function createAuth(settings: AuthSettings, deps: AuthDeps): Promise<Auth> {
  switch (settings.mode) {
    case 'none':
      if (settings.keysFile === undefined) {
        return { policy: openPolicy, documents: new Map(), close() {} }
      }
      return createKeyAuth({ mode: 'api-key', keysFile: settings.keysFile }, deps, true)
    case 'api-key':
      return createKeyAuth(settings, deps)
    case 'oauth': {
      // Loaded only then: it brings what verifies tokens.
      const { createOAuthPolicy } = await import('./oauth/policy.ts')
      return createOAuthPolicy(settings, deps)
    }
  }
}

async function createKeyAuth(
  { key, keysFile, movedFrom = [] }: ApiKeySettings,
  deps: AuthDeps,
  isOpen = false,
): Promise<Auth> {
  const { clock, log } = deps
  for (const { file, renamed } of movedFrom) {
    log.info({ path: file, keysFile }, 'the keys of an older file were moved')
    for (const { from, to } of renamed) {
      log.warn({ from, to, keysFile }, 'a moved key was renamed: another key has its name')
    }
  }
  if (key !== undefined && key.length < guessableChars) {
    log.warn({}, `the API key has fewer than ${guessableChars} characters: it can be guessed`)
  }
  const named = await NamedKeys.open({ ...deps, path: keysFile })
  const failures = new FailureLimit(deps)
  if (isOpen) named.onAsked(() => log.warn({ keysFile }, 'clients must present a key from now on'))
  const policy = createKeyPolicy({ key, named, failures, clock })
  return {
    policy: isOpen ? createOpenUntilKey(named, policy) : policy,
    documents: new Map(),
    close: () => named.close(),
  }
}
