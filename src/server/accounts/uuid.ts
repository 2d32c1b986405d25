import { randomBytes } from 'node:crypto'

/** UUID version 7 (RFC 9562, section 5.7): sorted by the time it was made. */
export function makeUuid(nowMs: number): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(nowMs, 0, 6)
  bytes[6] = 0x70 | (bytes.readUInt8(6) & 0x0f)
  bytes[8] = 0x80 | (bytes.readUInt8(8) & 0x3f)
  return formatUuid(bytes)
}

/** Sixteen bytes, whatever their version. */
export function formatUuid(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
