import type { CryptoKey } from 'jose'
import type { Clock } from '../../../lib/util/time.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { type Result, fail, ok } from '../../../lib/util/result.ts'
import type { AuthLimits } from '../limits.ts'
import type { KeySet } from './key-set.ts'
import type { KeyLoader } from './provider.ts'

/** `unknown`: the provider has no such key. `unavailable`: the provider is down. */
type KeyFailure = 'unknown' | 'unavailable'

interface FoundKey {
  readonly key: CryptoKey
  /** The mark of its key set. */
  readonly mark: string
}

export interface KeySource {
  find(alg: string, kid: string | undefined): Promise<Result<FoundKey, KeyFailure>>
  /**
   * Identifies the current key set; when it changes, verified tokens must be checked again. Null
   * when the keys are too old to use without a refresh. Refreshes them in advance.
   */
  mark(): string | null
  /** Seconds until the next request to the provider. */
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
 * The keys of the provider, fetched for the first token. Cached keys work for a time while the
 * provider is down. Rate-limits requests to the provider.
 */
export function createKeySource(parts: {
  load: KeyLoader
  limits: KeySourceLimits
  /** A monotonic clock. */
  ticks: Clock
  log: Logger
}): KeySource {
  const { load, limits, ticks, log } = parts
  const stopping = new AbortController()
  let held: { readonly keys: KeySet; readonly sinceMs: number } | null = null
  let failures = 0
  let retryAtMs = -Infinity
  let unknownAtMs = -Infinity
  let loading: Promise<void> | null = null

  /** Runs one request at a time, and none during a retry delay. Never rejects. */
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
    // Logged once: the provider may be down for days.
    if (failures++ > 0) return
    const meanwhile = held === null ? 'no token can be checked' : 'cached keys stay in use'
    log.warn(
      { reason: loaded.failure },
      `cannot fetch the keys of the OAuth provider: ${meanwhile}`,
    )
  }

  function ageMs(): number {
    return held === null ? Infinity : ticks.now() - held.sinceMs
  }

  /** The current keys; null when missing or too old. */
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
      // The key may be new. The cooldown stops made-up key ids from causing a request each.
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
        // While the provider is down, its cached keys are the newest.
        const isDown = ticks.now() < retryAtMs && age < limits.maxProviderKeysAgeMs
        return isDown ? (held?.keys.mark ?? null) : null
      }
      // Refresh in advance, so that no request waits.
      if (age >= limits.providerKeysFreshMs / 2) void renew()
      return held?.keys.mark ?? null
    },
    retryAfterSeconds: () => Math.max(1, Math.ceil((retryAtMs - ticks.now()) / 1000)),
    close: () => stopping.abort(),
  }
}
