import { collectBounded } from '../../../lib/util/bytes.ts'
import type { Clock } from '../../../lib/util/time.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { AuthLimits } from '../limits.ts'
import { type KeySet, parseKeySet } from './key-set.ts'
import { isSafeFetchUrl } from '../../../lib/auth/oauth-config.ts'
import { isJsonObject, parseJson } from '../../../lib/util/json.ts'

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

/** What this server needs to know of its provider. */
interface ProviderMetadata {
  readonly jwksUri: string
}

/**
 * Where the provider may describe itself, in the order of asking: RFC 8414 with the path of the
 * issuer behind the well-known one, OpenID Connect in the same way, and as OpenID Connect wrote it
 * first, behind the path.
 */
export function metadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/+$/, '')
  const urls = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ]
  return [...new Set(urls)]
}

/** The failure says what is wrong with the document. */
export function parseProviderMetadata(
  document: unknown,
  issuer: string,
): Result<ProviderMetadata, string> {
  if (!isJsonObject(document)) return fail('the description is not a JSON object')
  // Another name here would let one tenant of a host speak for the next (RFC 8414, section 3.3).
  if (document['issuer'] !== issuer) return fail('the description is of another issuer')
  const jwksUri = document['jwks_uri']
  if (typeof jwksUri !== 'string' || !URL.canParse(jwksUri)) {
    return fail('the description has no jwks_uri')
  }
  const url = new URL(jwksUri)
  const isPlainAllowed = new URL(issuer).protocol === 'http:'
  if (!isSafeFetchUrl(url) || (url.protocol === 'http:' && !isPlainAllowed)) {
    return fail('the jwks_uri is not https')
  }
  return ok({ jwksUri: url.href })
}

interface FetchFailure {
  /** False: somebody answered, so asking at another address makes sense. */
  readonly isUnreachable: boolean
  /** What happened, without the address. */
  readonly message: string
}

type FetchLimits = Pick<AuthLimits, 'providerTimeoutMs' | 'maxProviderBytes'>

const maxDepth = 16

/** Gets a JSON document of the provider: no redirects, bounded in time and in bytes. Never throws. */
async function fetchJson(
  url: string,
  { limits, stopped }: { readonly limits: FetchLimits; readonly stopped: AbortSignal },
): Promise<Result<unknown, FetchFailure>> {
  const late = AbortSignal.timeout(limits.providerTimeoutMs)
  try {
    const answer = await fetch(url, {
      headers: { Accept: 'application/json, application/jwk-set+json' },
      // Where it would lead was never named by whoever set up this server.
      redirect: 'manual',
      signal: AbortSignal.any([late, stopped]),
    })
    if (answer.status !== 200) {
      await answer.body?.cancel()
      return answered(`it answers with status ${answer.status}`)
    }
    // Counted as unpacked: a small answer may grow.
    const bytes = await collectBounded(answer.body ?? [], limits.maxProviderBytes)
    if (bytes === null) return answered(`it sends more than ${limits.maxProviderBytes} bytes`)
    const parsed = parseJson(bytes.toString('utf8'), maxDepth)
    return parsed.ok ? ok(parsed.value) : answered('it sends no JSON')
  } catch (error) {
    const message = late.aborted
      ? `it did not answer within ${limits.providerTimeoutMs} ms`
      : `it cannot be reached (${reasonOf(error)})`
    return fail({ isUnreachable: true, message })
  }
}

function answered(message: string): Result<never, FetchFailure> {
  return fail({ isUnreachable: false, message })
}

/** `fetch failed` says nothing: the cause knows. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  if (!(cause instanceof Error)) return 'unknown reason'
  const code = 'code' in cause ? cause.code : undefined
  return typeof code === 'string' ? code : cause.message
}
