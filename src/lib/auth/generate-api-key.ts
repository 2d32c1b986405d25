import { randomBytes } from 'node:crypto'

const maxBytes = 1024

/**
 * A new secret: `length` random bytes (1 to 1024) as URL-safe base64 without padding; 32 bytes give
 * 43 characters. A key of fewer than 16 bytes can be guessed. Throws `RangeError` for any other length.
 */
export function generateApiKey(length = 32): string {
  if (!Number.isInteger(length) || length < 1 || length > maxBytes) {
    throw new RangeError(`length must be a whole number of bytes from 1 to ${maxBytes}`)
  }
  return randomBytes(length).toString('base64url')
}
