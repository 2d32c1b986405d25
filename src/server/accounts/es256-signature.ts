/** Order of the group of P-256 (FIPS 186-4, D.1.2.3). */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
const halfOrder = order / 2n
const scalarBytes = 32

/**
 * Returns the one spelling of an ES256 signature that this program takes: base64url without spare
 * bits, and the smaller one of `s` and `order - s`, which verify alike. Null for what has another length.
 */
export function canonicalSignature(signature: string): string | null {
  const bytes = Buffer.from(signature, 'base64url')
  if (bytes.length !== 2 * scalarBytes) return null
  const s = BigInt(`0x${bytes.toString('hex', scalarBytes)}`)
  if (s > halfOrder && s < order) {
    bytes.write((order - s).toString(16).padStart(2 * scalarBytes, '0'), scalarBytes, 'hex')
  }
  return bytes.toString('base64url')
}
