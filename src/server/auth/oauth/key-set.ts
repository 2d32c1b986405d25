import { hash } from 'node:crypto'
import { createLocalJWKSet, type CryptoKey, errors, type JWK } from 'jose'
import { isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import { type Result, fail, ok } from '../../../lib/util/result.ts'
import type { AuthLimits } from '../limits.ts'

/** The public keys of the provider at one moment. */
export interface KeySet {
  /** Equal for equal keys. */
  readonly mark: string
  /** Null when no key fits, or, for a token that names none, more than one. */
  find(alg: string, kid: string | undefined): Promise<CryptoKey | null>
}

const asymmetric = ['EC', 'OKP', 'RSA']

/**
 * Reads a JWK set (RFC 7517). Keys that cannot verify a signature are left out, so that one that is
 * not understood here does not end the others. The failure says what is wrong with the whole.
 */
export function parseKeySet(
  document: unknown,
  { maxProviderKeys }: Pick<AuthLimits, 'maxProviderKeys'>,
): Result<KeySet, string> {
  const listed = isJsonObject(document) ? document['keys'] : undefined
  if (!Array.isArray(listed)) return fail('the key set has no list of keys')
  if (listed.length > maxProviderKeys) {
    return fail(`the key set has ${listed.length} keys; at most ${maxProviderKeys} are taken`)
  }
  const keys = listed.filter(isVerifyingKey)
  const local = createLocalJWKSet({ keys })
  return ok({
    mark: hash('sha256', JSON.stringify(keys), 'base64'),
    async find(alg, kid) {
      try {
        return await local({ alg, ...(kid === undefined ? {} : { kid }) })
      } catch (error) {
        // A key that does not import counts as none.
        if (isUnusable(error)) return null
        throw error
      }
    },
  })
}

/**
 * The rest is looked at when a key is looked for: curve, `alg`, `key_ops`, and that it is a public
 * one.
 */
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
