/** Bytes encoded at a time: a multiple of 3, small enough that its text is short-lived. */
export const encodeBytes = 48 * 1024

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
  const source = asBuffer(bytes)
  const target = Buffer.allocUnsafeSlow(base64Length(source.length))
  let length = 0
  for (let at = 0; at < source.length; at += encodeBytes) {
    length += target.write(source.toString('base64', at, at + encodeBytes), length, 'latin1')
  }
  return target
}
