import { hash } from 'node:crypto'
import { createLocalJWKSet, type CryptoKey, errors, type JWK } from 'jose'
import { isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import { type Result, fail, ok } from '../../../lib/util/result.ts'
import type { AuthLimits } from '../limits.ts'

/** The public keys of the provider. */
export interface KeySet {
  /** Equal for equal keys. */
  readonly mark: string
  /** Null when no key matches, or several match a token without `kid`. */
  find(alg: string, kid: string | undefined): Promise<CryptoKey | null>
}

const asymmetric = ['EC', 'OKP', 'RSA']

/**
 * Parses a JWK set (RFC 7517). Skips unknown keys and keys that cannot verify signatures.
 */
export function parseKeySet(
  document: unknown,
  { maxProviderKeys }: Pick<AuthLimits, 'maxProviderKeys'>,
): Result<KeySet, string> {
  const listed = isJsonObject(document) ? document['keys'] : undefined
  if (!Array.isArray(listed)) return fail('the key set has no list of keys')
  if (listed.length > maxProviderKeys) {
    return fail(`the key set has ${listed.length} keys; the limit is ${maxProviderKeys}`)
  }
  const keys = listed.filter(isVerifyingKey)
  const local = createLocalJWKSet({ keys })
  return ok({
    mark: hash('sha256', JSON.stringify(keys), 'base64'),
    async find(alg, kid) {
      try {
        return await local({ alg, kid })
      } catch (error) {
        // A key that cannot be imported counts as missing.
        if (isUnusable(error)) return null
        throw error
      }
    },
  })
}

/** `find` checks the rest: curve, `alg`, `key_ops`, and that the key is public. */
function isVerifyingKey(key: unknown): key is JsonObject & JWK {
  if (!isJsonObject(key)) return false
  const { kty, use, kid } = key
  if (typeof kty !== 'string' || !asymmetric.includes(kty)) return false
  return (use === undefined || use === 'sig') && (kid === undefined || typeof kid === 'string')
}

function isUnusable(error: unknown): boolean {
  return (
    error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException
  )
}
