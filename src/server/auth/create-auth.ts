import {
  anonymous,
  type AuthOutcome,
  type AuthPolicy,
  type AuthRefused,
  keyHolder,
  keyMalformed,
  keyMissing,
  openPolicy,
} from '../http/authentication.ts'
import { tokenUnknown, withAccountTokens } from './accounts-policy.ts'
import type { Auth, AuthDeps } from './auth.ts'
import { FailureLimit } from './failure-limit.ts'
import { type KnownKey, NamedKeys } from './named-keys.ts'
import type { ApiKeySettings, AuthSettings } from './settings.ts'
import { bearerToken } from '../../lib/auth/validate-bearer-token.ts'
import type { Clock } from '../../lib/util/time.ts'
import { keyDigest, keyPrefix } from '../../lib/auth/keys-file.ts'
import { Secret } from '../../lib/util/secret.ts'

/** Shorter keys can be guessed in spite of the failure limit. */
const guessableChars = 16

/**
 * Creates the authentication of a server. Close it after the server has stopped. Throws
 * `config_invalid` for an unusable keys file: a server must not start open because its keys are
 * unreadable.
 */
export async function createAuth(settings: AuthSettings, deps: AuthDeps): Promise<Auth> {
  switch (settings.mode) {
    case 'none':
      if (settings.keysFile === undefined) {
        return { policy: openPolicy, documents: new Map(), close() {} }
      }
      return createKeyAuth({ mode: 'api-key', keysFile: settings.keysFile }, deps, { isOpen: true })
    case 'api-key':
      return createKeyAuth(settings, deps)
    case 'accounts': {
      if (deps.accounts === undefined) throw new TypeError('no accounts server is known')
      const others = { unknown: tokenUnknown }
      const keys = await createKeyAuth({ ...settings, mode: 'api-key' }, deps, others)
      const policy = withAccountTokens(keys.policy, deps.accounts, new FailureLimit(deps))
      return { ...keys, policy }
    }
    case 'oauth': {
      // Loaded on demand: it imports the JWT library.
      const { createOAuthPolicy } = await import('./oauth/policy.ts')
      return createOAuthPolicy(settings, deps)
    }
  }
}

async function createKeyAuth(
  { key, keysFile }: ApiKeySettings,
  deps: AuthDeps,
  { isOpen = false, unknown = keyUnknown } = {},
): Promise<Auth> {
  const { clock, log } = deps
  if (key !== undefined && key.length < guessableChars) {
    log.warn({}, `the API key has fewer than ${guessableChars} characters: it can be guessed`)
  }
  const named = await NamedKeys.open({ ...deps, path: keysFile })
  const failures = new FailureLimit(deps)
  if (isOpen) named.onRequired(() => log.warn({ keysFile }, 'clients need a key from now on'))
  const policy = createKeyPolicy({ key, named, failures, clock, unknown })
  return {
    policy: isOpen ? createOpenUntilKey(named, policy) : policy,
    documents: new Map(),
    close: () => named.close(),
  }
}

/**
 * Allows every caller until the keys file holds a key or becomes unusable; then `keyed` decides and
 * open streams of callers without a key are cut.
 */
function createOpenUntilKey(
  named: Pick<NamedKeys, 'isUnchanged' | 'isRequired' | 'look' | 'onRequired'>,
  keyed: AuthPolicy,
): AuthPolicy {
  const current = (): AuthPolicy => (named.isRequired ? keyed : openPolicy)
  return {
    authenticate(caller) {
      if (named.isUnchanged()) return current().authenticate(caller)
      return named.look().then(() => current().authenticate(caller))
    },
    onRevoked(listener) {
      const stops = [keyed.onRevoked?.(listener), named.onRequired(() => listener(anonymous))]
      return () => stops.forEach(stop => stop?.())
    },
  }
}

interface KeyPolicyParts {
  /** The key of the configuration. */
  readonly key: string | undefined
  readonly named: Pick<NamedKeys, 'isUnchanged' | 'find' | 'look' | 'onRevoked'>
  readonly failures: FailureLimit
  /** Wall-clock time. */
  readonly clock: Clock
  /** The refusal of what is no key. */
  readonly unknown: AuthRefused
}

/** The name of a key in sessions and logs; reveals nothing of the key. */
function keyPrincipal(name: string): string {
  return `key:${name}`
}

/** Accepts the configured key, if any, and all named keys. */
function createKeyPolicy(parts: KeyPolicyParts): AuthPolicy {
  const { key, named, failures, clock, unknown } = parts
  const configured = key === undefined ? null : new Secret(key)

  /** The outcome for a named key, or null for an unknown one. */
  function accepted(known: KnownKey | undefined): AuthOutcome | null {
    if (known === undefined) return null
    const { name, scope, expiresAtMs } = known
    if (expiresAtMs !== null && expiresAtMs <= clock.now()) return expired
    return {
      ok: true,
      principal: keyPrincipal(name),
      mayWrite: scope === 'write',
      expiresAtMs: expiresAtMs ?? undefined,
    }
  }

  function settled(outcome: AuthOutcome, peer: string): AuthOutcome {
    return outcome.ok ? outcome : failures.refused(peer, outcome)
  }

  return {
    authenticate({ headers, peer }) {
      const sent = headers.authorization
      if (sent === undefined) return keyMissing
      const token = bearerToken(sent)
      if (token === null) return settled(keyMalformed, peer)
      const last = () => (configured?.equals(token) === true ? keyHolder : unknown)
      if (!token.startsWith(keyPrefix)) return settled(last(), peer)
      // Named keys come first: the configured key may also be a named one with the scope `read`.
      const digest = keyDigest(token)
      const now = named.isUnchanged() ? (accepted(named.find(digest)) ?? last()) : unknown
      if (now !== unknown) return settled(now, peer)
      // The keys file may have changed: read it again.
      return named.look().then(() => settled(accepted(named.find(digest)) ?? last(), peer))
    },
    onRevoked: listener => named.onRevoked(name => listener(keyPrincipal(name))),
  }
}

const keyUnknown: AuthRefused = {
  ok: false,
  status: 401,
  error: 'invalid_token',
  description: 'this server does not know the API key, or it was revoked',
}

const expired: AuthRefused = {
  ok: false,
  status: 401,
  error: 'invalid_token',
  description: 'the API key has expired: make a new one with service-cli keys create',
}
