import { crc32 } from 'node:zlib'
import { type Result, fail, ok } from '../../lib/util/result.ts'
import { pngSignature, startsAsPng } from './png/pixels.ts'

export interface PngBounds {
  readonly maxBytes: number
  readonly maxWidth: number
}

interface PngSize {
  readonly width: number
  readonly height: number
}

/** Length, type and checksum around the data of a chunk. */
const chunkFrame = 12
const headerBytes = 13
/** No window is higher. Also bounds what a small file can unfold to in a decoder. */
const maxHeight = 16_384

/** Bit depths by colour type (PNG, section 11.2.1). */
const depths: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
}

/**
 * Checks that it is one whole PNG file within the bounds: the structure, from the signature to the
 * last byte, and the checksum of the header. The pixels are not decoded.
 */
export function checkPng(png: Buffer, bounds: PngBounds): Result<PngSize, string> {
  if (png.length > bounds.maxBytes) {
    return fail(`it has ${png.length} bytes, at most ${bounds.maxBytes} were asked for`)
  }
  if (!startsAsPng(png)) return fail('not a PNG file')
  const header = readHeader(png)
  if (!header.ok) return header
  const { width, height } = header.value
  if (width > bounds.maxWidth) {
    return fail(`it is ${width} pixels wide, at most ${bounds.maxWidth} were asked for`)
  }
  if (height > maxHeight) return fail(`it is ${height} pixels high, more than ${maxHeight}`)
  const broken = brokenChunk(png)
  return broken === null ? header : fail(broken)
}

function readHeader(png: Buffer): Result<PngSize, string> {
  const start = pngSignature.length
  const end = start + chunkFrame + headerBytes
  if (png.length < end || chunkAt(png, start) !== 'IHDR' || png.readUInt32BE(start) !== 13) {
    return fail('it does not begin with a header')
  }
  if (crc32(png.subarray(start + 4, end - 4)) !== png.readUInt32BE(end - 4)) {
    return fail('the checksum of its header is wrong')
  }
  const width = png.readUInt32BE(start + 8)
  const height = png.readUInt32BE(start + 12)
  const [depth = 0, colour = 0, compression, filter, interlace = 2] = png.subarray(start + 16)
  const isKnown = depths[colour]?.includes(depth) && compression === 0 && filter === 0
  if (width === 0 || height === 0 || !isKnown || interlace > 1) {
    return fail('its header says nothing that a PNG can be')
  }
  return ok({ width, height })
}

/** From chunk to chunk: there are pixels, an end, and nothing behind it. */
function brokenChunk(png: Buffer): string | null {
  let hasPixels = false
  for (let at = pngSignature.length; at + chunkFrame <= png.length;) {
    const type = chunkAt(png, at)
    const next = at + chunkFrame + png.readUInt32BE(at)
    if (type === 'IDAT') hasPixels = true
    if (type === 'IEND') {
      if (!hasPixels) return 'it has no pixels'
      return next === png.length ? null : 'there is something behind its end'
    }
    at = next
  }
  return 'it is cut off'
}

function chunkAt(png: Buffer, at: number): string {
  return png.toString('latin1', at + 4, at + 8)
}
