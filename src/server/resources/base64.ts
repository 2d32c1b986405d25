/** Characters of the padded base64 of so many bytes. */
export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4
}

/** The bytes as a `Buffer`, not copied. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** The ASCII bytes of the padded base64 text. */
export function encodeBase64(bytes: Uint8Array): Uint8Array {
  return Buffer.from(asBuffer(bytes).toString('base64'), 'latin1')
}
