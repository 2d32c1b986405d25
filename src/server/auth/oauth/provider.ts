import type { Clock } from '../../../lib/util/clock.ts'
import { type Result, fail, ok } from '../../../lib/util/result.ts'
import type { AuthLimits } from '../limits.ts'
import { type FetchLimits, fetchJson } from './fetch-json.ts'
import { type KeySet, parseKeySet } from './key-set.ts'
import { metadataUrls, parseProviderMetadata, type ProviderMetadata } from './provider-metadata.ts'

/** Asks the provider for its keys as they are now; the failure says what went wrong, and where. */
export type KeyLoader = (stopped: AbortSignal) => Promise<Result<KeySet, string>>

/**
 * Finds the provider by its issuer and reads its key set. What it says of itself is asked for again
 * from time to time, and when its keys are not where it said; an old word is better than none.
 */
export function createKeyLoader(parts: {
  readonly issuer: string
  readonly limits: FetchLimits & Pick<AuthLimits, 'maxProviderKeys' | 'providerMetadataFreshMs'>
  /** Of durations. */
  readonly ticks: Clock
}): KeyLoader {
  const { issuer, limits, ticks } = parts
  let known: { readonly metadata: ProviderMetadata; readonly sinceMs: number } | null = null

  async function discover(stopped: AbortSignal): Promise<Result<ProviderMetadata, string>> {
    let failure = ''
    for (const url of metadataUrls(issuer)) {
      const answer = await fetchJson(url, { limits, stopped })
      if (!answer.ok) {
        failure = `${url}: ${answer.failure.message}`
        if (answer.failure.isUnreachable) break
        continue
      }
      const metadata = parseProviderMetadata(answer.value, issuer)
      if (metadata.ok) return metadata
      failure = `${url}: ${metadata.failure}`
    }
    return fail(failure)
  }

  async function locate(stopped: AbortSignal): Promise<Result<ProviderMetadata, string>> {
    const fresh = known !== null && ticks.now() - known.sinceMs < limits.providerMetadataFreshMs
    if (known !== null && fresh) return ok(known.metadata)
    const found = await discover(stopped)
    if (found.ok) known = { metadata: found.value, sinceMs: ticks.now() }
    return known === null ? found : ok(known.metadata)
  }

  return async stopped => {
    const located = await locate(stopped)
    if (!located.ok) return located
    const { jwksUri } = located.value
    const answer = await fetchJson(jwksUri, { limits, stopped })
    const keys = answer.ok ? parseKeySet(answer.value, limits) : fail(answer.failure.message)
    if (keys.ok) return keys
    // They may have moved: next time it is asked first.
    if (known !== null) known = { ...known, sinceMs: -Infinity }
    return fail(`${jwksUri}: ${keys.failure}`)
  }
}
