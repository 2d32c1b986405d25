import { randomBytes } from 'node:crypto'

/** Fewer random bytes could be guessed. */
const minBytes = 16
const maxBytes = 1024

/**
 * A new secret: `length` random bytes (16 to 1024) as URL-safe base64 without padding; 32 bytes
 * give 43 characters. Throws `RangeError` for any other length.
 */
export function generateApiKey(length = 32): string {
  if (!Number.isInteger(length) || length < minBytes || length > maxBytes) {
    throw new RangeError(`length must be a whole number of bytes from ${minBytes} to ${maxBytes}`)
  }
  return randomBytes(length).toString('base64url')
}
