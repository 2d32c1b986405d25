import { collectBounded } from '../../../lib/util/bytes.ts'
import type { Clock } from '../../../lib/util/time.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { AuthLimits } from '../limits.ts'
import { type KeySet, parseKeySet } from './key-set.ts'
import { isSafeFetchUrl } from '../../../lib/auth/oauth-config.ts'
import { isJsonObject, parseJson } from '../../../lib/util/json.ts'

/** Fetches the current keys of the provider. The failure contains the URL. */
export type KeyLoader = (stopped: AbortSignal) => Promise<Result<KeySet, string>>

/**
 * Reads the metadata of the provider and then its key set. Refreshes the metadata periodically and
 * after a failed key request, and keeps the old metadata when that fails.
 */
export function createKeyLoader(parts: {
  issuer: string
  limits: FetchLimits & Pick<AuthLimits, 'maxProviderKeys' | 'providerMetadataFreshMs'>
  /** A monotonic clock. */
  ticks: Clock
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
    // The keys may have moved: read the metadata again next time.
    if (known !== null) known = { ...known, sinceMs: -Infinity }
    return fail(`${jwksUri}: ${keys.failure}`)
  }
}

/** The part of the provider metadata that this server uses. */
interface ProviderMetadata {
  readonly jwksUri: string
}

/**
 * The possible metadata URLs in order: RFC 8414 and OpenID Connect with the issuer path after the
 * well-known path, then OpenID Connect with the well-known path at the end.
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

/** Parses a metadata document. */
export function parseProviderMetadata(
  document: unknown,
  issuer: string,
): Result<ProviderMetadata, string> {
  if (!isJsonObject(document)) return fail('the metadata is not a JSON object')
  // Otherwise one tenant of a host could impersonate another (RFC 8414, section 3.3).
  if (document['issuer'] !== issuer) return fail('the metadata names another issuer')
  const jwksUri = document['jwks_uri']
  if (typeof jwksUri !== 'string' || !URL.canParse(jwksUri)) {
    return fail('the metadata has no jwks_uri')
  }
  const url = new URL(jwksUri)
  const isPlainAllowed = new URL(issuer).protocol === 'http:'
  if (!isSafeFetchUrl(url) || (url.protocol === 'http:' && !isPlainAllowed)) {
    return fail('the jwks_uri is not https')
  }
  return ok({ jwksUri: url.href })
}

interface FetchFailure {
  /** False when the host answered: the next URL may work. */
  readonly isUnreachable: boolean
  /** The reason, without the address. */
  readonly message: string
}

type FetchLimits = Pick<AuthLimits, 'providerTimeoutMs' | 'maxProviderBytes'>

const maxDepth = 16

/** Fetches a JSON document: no redirects, bounded time and size. Never throws. */
async function fetchJson(
  url: string,
  { limits, stopped }: { limits: FetchLimits; stopped: AbortSignal },
): Promise<Result<unknown, FetchFailure>> {
  const late = AbortSignal.timeout(limits.providerTimeoutMs)
  try {
    const answer = await fetch(url, {
      headers: { Accept: 'application/json, application/jwk-set+json' },
      // The operator has not approved any redirect target.
      redirect: 'manual',
      signal: AbortSignal.any([late, stopped]),
    })
    if (answer.status !== 200) {
      await answer.body?.cancel()
      return answered(`it answers with status ${answer.status}`)
    }
    // Counts decompressed bytes.
    const bytes = await collectBounded(answer.body ?? [], limits.maxProviderBytes)
    if (bytes === null) return answered(`it sends more than ${limits.maxProviderBytes} bytes`)
    const parsed = parseJson(bytes.toString('utf8'), maxDepth)
    return parsed.ok ? ok(parsed.value) : answered('the answer is not JSON')
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

/** The cause: the message of `fetch` itself is only "fetch failed". */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  if (!(cause instanceof Error)) return 'unknown reason'
  const code = 'code' in cause ? cause.code : undefined
  return typeof code === 'string' ? code : cause.message
}
