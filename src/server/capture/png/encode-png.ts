import { crc32, deflateSync } from 'node:zlib'
import type { RgbPicture } from './pixels.ts'
import { filterRows, type RowFilter, rowFilters } from './row-filters.ts'
import { pngSignature } from './signature.ts'

/** Eight bits a colour, red, green and blue, no transparency; rows from top to bottom. */
const form = [8, 2, 0, 0, 0]

/** A PNG file with exactly these pixels. */
export function encodePng(picture: RgbPicture, filter = chooseFilter(picture).filter): Buffer {
  const { bytes, width, height } = picture
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set(form, 8)
  const data = deflateSync(filterRows(bytes, width * 3, filter, 0, height), { level: 6 })
  return Buffer.concat([pngSignature, chunk('IHDR', head), chunk('IDAT', data), chunk('IEND')])
}

export interface ChosenFilter {
  readonly filter: RowFilter
  /** Of the file, give or take a third. */
  readonly estimatedBytes: number
}

/** Rows of each sample, and how many samples there are at most. */
const sampleRows = 16
const samples = 8

/**
 * Which filter makes the file smallest depends on the picture (flat panels, a shaded view, a
 * photograph), and is found by trying them on a part of it.
 */
export function chooseFilter({ bytes, width, height }: RgbPicture): ChosenFilter {
  const step = Math.max(sampleRows, Math.floor(height / samples))
  const sizes = rowFilters.map(filter => {
    let size = 0
    for (let from = 0; from < height; from += step) {
      const rows = filterRows(bytes, width * 3, filter, from, Math.min(from + sampleRows, height))
      size += deflateSync(rows, { level: 3 }).length
    }
    return size
  })
  const least = Math.min(...sizes)
  const rows = Math.ceil(height / step) * Math.min(sampleRows, height)
  const filter = rowFilters[sizes.indexOf(least)] ?? 'sub'
  return { filter, estimatedBytes: Math.round((least * height) / rows) }
}

function chunk(type: string, data: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(data.length, 0)
  head.write(type, 4, 'latin1')
  const check = Buffer.alloc(4)
  check.writeUInt32BE(crc32(data, crc32(head.subarray(4))))
  return Buffer.concat([head, data, check])
}
