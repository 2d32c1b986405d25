import { isSafeFetchUrl } from '../../../lib/auth/issuer-url.ts'
import { isJsonObject } from '../../../lib/util/json.ts'
import { type Result, fail, ok } from '../../../lib/util/result.ts'

/** What this server needs to know of its provider. */
export interface ProviderMetadata {
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
