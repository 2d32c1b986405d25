import type { CryptoKey } from 'jose'
import type { Clock } from '../../../lib/util/time.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { type Result, fail, ok } from '../../../lib/util/result.ts'
import type { AuthLimits } from '../limits.ts'
import type { KeySet } from './key-set.ts'
import type { KeyLoader } from './provider.ts'

/** `unknown`: the provider has no such key. `unavailable`: it cannot be asked. */
type KeyFailure = 'unknown' | 'unavailable'

interface FoundKey {
  readonly key: CryptoKey
  /** Of the keys that it is one of. */
  readonly mark: string
}

export interface KeySource {
  find(alg: string, kid: string | undefined): Promise<Result<FoundKey, KeyFailure>>
  /**
   * Names the keys that count at this moment: what was proven by them is forgotten when it changes.
   * Null when they are too old to be used without asking the provider. Renews them in time.
   */
  mark(): string | null
  /** When asking again may help, in whole seconds. */
  retryAfterSeconds(): number
  close(): void
}

type KeySourceLimits = Pick<
  AuthLimits,
  | 'providerKeysFreshMs'
  | 'maxProviderKeysAgeMs'
  | 'unknownKeyCooldownMs'
  | 'providerRetryMs'
  | 'maxProviderRetryMs'
>

/**
 * The keys of the provider, fetched when the first token comes. While the provider is down, those
 * known go on working for a time; no token makes it be asked more often than the limits say.
 */
export function createKeySource(parts: {
  readonly load: KeyLoader
  readonly limits: KeySourceLimits
  /** Of durations. */
  readonly ticks: Clock
  readonly log: Logger
}): KeySource {
  const { load, limits, ticks, log } = parts
  const stopping = new AbortController()
  let held: { readonly keys: KeySet; readonly sinceMs: number } | null = null
  let failures = 0
  let retryAtMs = -Infinity
  let unknownAtMs = -Infinity
  let loading: Promise<void> | null = null

  /** One request at a time, none while the provider is being left alone. Never rejects. */
  function renew(): Promise<void> {
    if (loading !== null) return loading
    if (ticks.now() < retryAtMs || stopping.signal.aborted) return Promise.resolve()
    loading = load(stopping.signal)
      .then(settle, (error: unknown) => settle(fail(String(error))))
      .finally(() => (loading = null))
    return loading
  }

  function settle(loaded: Result<KeySet, string>): void {
    if (stopping.signal.aborted) return
    if (loaded.ok) {
      if (failures > 0) log.info({}, 'the OAuth provider answers again')
      held = { keys: loaded.value, sinceMs: ticks.now() }
      failures = 0
      retryAtMs = -Infinity
      return
    }
    const delayMs = Math.min(limits.providerRetryMs * 2 ** failures, limits.maxProviderRetryMs)
    retryAtMs = ticks.now() + delayMs
    // Said once; it may be down for days.
    if (failures++ > 0) return
    const meanwhile = held === null ? 'no token can be checked' : 'its known keys go on being used'
    log.warn(
      { reason: loaded.failure },
      `the keys of the OAuth provider cannot be fetched: ${meanwhile}`,
    )
  }

  function ageMs(): number {
    return held === null ? Infinity : ticks.now() - held.sinceMs
  }

  /** Null when there are none, or they are too old for a provider that is down. */
  async function current(): Promise<KeySet | null> {
    if (ageMs() >= limits.providerKeysFreshMs) await renew()
    return ageMs() < limits.maxProviderKeysAgeMs ? (held?.keys ?? null) : null
  }

  return {
    async find(alg, kid) {
      const before = await current()
      if (before === null) return fail('unavailable')
      const known = await before.find(alg, kid)
      if (known !== null) return ok({ key: known, mark: before.mark })
      // Perhaps a key of today. Whoever makes up names of keys must not make us ask each time.
      if (ticks.now() - unknownAtMs >= limits.unknownKeyCooldownMs) {
        unknownAtMs = ticks.now()
        await renew()
      } else if (loading !== null) await loading
      const fresh = held?.keys ?? before
      const found = fresh === before ? null : await fresh.find(alg, kid)
      if (found !== null) return ok({ key: found, mark: fresh.mark })
      return fail(failures > 0 ? 'unavailable' : 'unknown')
    },
    mark() {
      const age = ageMs()
      if (age >= limits.providerKeysFreshMs) {
        // A provider that is down is not waited for: then its known keys are the newest there are.
        const isDown = ticks.now() < retryAtMs && age < limits.maxProviderKeysAgeMs
        return isDown ? (held?.keys.mark ?? null) : null
      }
      // Renewed in good time, nobody has to wait for it.
      if (age >= limits.providerKeysFreshMs / 2) void renew()
      return held?.keys.mark ?? null
    },
    retryAfterSeconds: () => Math.max(1, Math.ceil((retryAtMs - ticks.now()) / 1000)),
    close: () => stopping.abort(),
  }
}
