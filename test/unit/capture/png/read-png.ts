import { crc32, inflateSync } from 'node:zlib'
import type { RgbPicture } from '../../../../src/server/capture/png/pixels.ts'

/** Reads the PNG files that are made here, by the book and without any of their code. */
export function readPng(png: Buffer): RgbPicture & { readonly filters: Set<number> } {
  if (png.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n') throw new Error('no PNG file')
  let at = 8
  let head: Buffer = Buffer.alloc(0)
  const data: Buffer[] = []
  let ended = false
  while (at < png.length) {
    const length = png.readUInt32BE(at)
    const type = png.toString('latin1', at + 4, at + 8)
    const content = png.subarray(at + 8, at + 8 + length)
    if (crc32(png.subarray(at + 4, at + 8 + length)) !== png.readUInt32BE(at + 8 + length)) {
      throw new Error(`the check sum of ${type} is wrong`)
    }
    if (type === 'IHDR') head = content
    if (type === 'IDAT') data.push(content)
    ended = type === 'IEND'
    at += 12 + length
  }
  if (!ended) throw new Error('the end is missing')
  if (head.subarray(8).toString('hex') !== '0802000000') throw new Error('another kind of picture')
  const [width, height] = [head.readUInt32BE(0), head.readUInt32BE(4)]
  return unfilter(inflateSync(Buffer.concat(data)), width, height)
}

/** Rows with the mark of their filter in front, as they lie in a file. */
export function unfilter(rows: Buffer, width: number, height: number) {
  const rowBytes = width * 3
  if (rows.length !== (rowBytes + 1) * height) throw new Error('rows are missing')
  const bytes = new Uint8Array(rowBytes * height)
  const filters = new Set<number>()
  for (let y = 0; y < height; y++) {
    const filter = rows[y * (rowBytes + 1)] ?? -1
    filters.add(filter)
    for (let x = 0; x < rowBytes; x++) {
      const to = y * rowBytes + x
      const left = x < 3 ? 0 : (bytes[to - 3] ?? 0)
      const up = y === 0 ? 0 : (bytes[to - rowBytes] ?? 0)
      const corner = x < 3 || y === 0 ? 0 : (bytes[to - rowBytes - 3] ?? 0)
      const guess = left + up - corner
      const nearest = [left, up, corner].toSorted(
        (a, b) => Math.abs(guess - a) - Math.abs(guess - b),
      )[0]
      const predicted = { 0: 0, 1: left, 2: up, 4: nearest }[filter]
      if (predicted === undefined) throw new Error(`filter ${filter} is not used here`)
      bytes[to] = (rows[y * (rowBytes + 1) + 1 + x] ?? 0) + predicted
    }
  }
  return { bytes, width, height, filters }
}
