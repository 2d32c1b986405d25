import { crc32, deflateSync } from 'node:zlib'

export const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** A chunk of a PNG file, its checksum right. */
export function pngChunk(type: string, data: Buffer = Buffer.alloc(0)): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const frame = Buffer.alloc(8)
  frame.writeUInt32BE(data.length, 0)
  frame.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)])
}

/** The header of a PNG file: 8-bit RGB unless told otherwise. */
export function pngHeader(width: number, height: number, form = [8, 2, 0, 0, 0]): Buffer {
  const data = Buffer.alloc(13)
  data.writeUInt32BE(width, 0)
  data.writeUInt32BE(height, 4)
  data.set(form, 8)
  return pngChunk('IHDR', data)
}

/** A PNG file of pixels of three bytes each. */
export function rgbPng(pixels: Uint8Array, width: number, height: number): Buffer {
  const rows = Buffer.alloc((width * 3 + 1) * height)
  for (let row = 0; row < height; row++) {
    rows.set(pixels.subarray(row * width * 3, (row + 1) * width * 3), row * (width * 3 + 1) + 1)
  }
  const parts = [pngHeader(width, height), pngChunk('IDAT', deflateSync(rows)), pngChunk('IEND')]
  return Buffer.concat([pngSignature, ...parts])
}

/** A small PNG file in which no two rows are the same. */
export function pngOf(width: number, height: number): Buffer {
  const pixels = Uint8Array.from({ length: width * 3 * height }, (_, at) => at / (width * 3) + 1)
  return rgbPng(pixels, width, height)
}
