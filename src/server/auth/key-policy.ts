import { bearerToken } from '../../lib/auth/bearer-token.ts'
import type { Clock } from '../../lib/util/clock.ts'
import { keyDigest, keyPrefix } from '../../lib/auth/key-text.ts'
import { Secret } from '../../lib/util/secret.ts'
import { keyHolder, keyMalformed, keyMissing } from '../http/api-key-policy.ts'
import type { AuthOutcome, AuthPolicy, AuthRefused } from '../http/authentication.ts'
import type { FailureLimit } from './failure-limit.ts'
import type { KnownKey, NamedKeys } from './named-keys.ts'

export interface KeyPolicyParts {
  /** The key of the configuration. */
  readonly key: string | undefined
  readonly named: Pick<NamedKeys, 'isUnchanged' | 'find' | 'look' | 'onRevoked'>
  readonly failures: FailureLimit
  /** The time of day. */
  readonly clock: Clock
}

/** Sessions and log name a key so; never by anything of the key. */
export function keyPrincipal(name: string): string {
  return `key:${name}`
}

/** One key of the configuration, if there is one, and any number of named ones. */
export function createKeyPolicy(parts: KeyPolicyParts): AuthPolicy {
  const { key, named, failures, clock } = parts
  const configured = key === undefined ? null : new Secret(key)

  /** Of the keys as they are known now. */
  function accepted(known: KnownKey | undefined): AuthOutcome | null {
    if (known === undefined) return null
    const { name, scope, expiresAtMs } = known
    if (expiresAtMs !== null && expiresAtMs <= clock.now()) return expired
    return {
      ok: true,
      principal: keyPrincipal(name),
      mayWrite: scope === 'write',
      ...(expiresAtMs !== null && { expiresAtMs }),
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
      // Before the key of the configuration: it may be a named one, which may only read.
      const digest = keyDigest(token)
      const now = named.isUnchanged() ? (accepted(named.find(digest)) ?? last()) : unknown
      if (now !== unknown) return settled(now, peer)
      // Made a moment ago, or not looked at for a while.
      return named.look().then(() => settled(accepted(named.find(digest)) ?? last(), peer))
    },
    onRevoked: listener => named.onRevoked(name => listener(keyPrincipal(name))),
  }
}

const unknown: AuthRefused = {
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
