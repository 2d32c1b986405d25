import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { CaptureFailure } from '../backend.ts'
import { isBlank, pngSignature, type RawPicture, type RgbPicture, toRgb } from './pixels.ts'
import { scaleDown } from './scale-down.ts'
import { crc32, deflateSync } from 'node:zlib'

export interface PictureForm {
  readonly maxWidth: number
  readonly maxBytes: number
  readonly maxRounds: number
}

export interface Picture {
  readonly png: Buffer
  readonly width: number
  readonly height: number
}

/** Takes tens of milliseconds for a window, a second for a large one: not for the main thread. */
export function makePicture(raw: RawPicture, form: PictureForm): Result<Picture, CaptureFailure> {
  const rgb = toRgb(raw)
  if (!rgb.ok) {
    return fail({ reason: 'failed', message: `the picture cannot be read: ${rgb.failure}` })
  }
  if (isBlank(rgb.value)) {
    const message = 'the picture of the window is of one colour: nothing is drawn in it yet'
    return fail({ reason: 'blank', message })
  }
  return fit(rgb.value, form)
}

/** Smaller pictures are always made of the first one: of one another they would blur. */
export function fit(picture: RgbPicture, form: PictureForm): Result<Picture, CaptureFailure> {
  let width = Math.min(picture.width, form.maxWidth)
  for (let round = 0; round < form.maxRounds; round++) {
    const scaled = scaleDown(picture, width)
    const { filter, estimatedBytes } = chooseFilter(scaled)
    // A large picture that is sure not to fit would take a second for nothing.
    if (estimatedBytes > form.maxBytes * 2 && round + 1 < form.maxRounds) {
      width = nextWidth(width, estimatedBytes / 1.2, form.maxBytes)
      continue
    }
    const png = encodePng(scaled, filter)
    if (png.length <= form.maxBytes) {
      return ok({ png, width: scaled.width, height: scaled.height })
    }
    if (width === 1) break
    width = nextWidth(width, png.length, form.maxBytes)
  }
  const message = `the picture does not fit into ${form.maxBytes} bytes`
  return fail({ reason: 'failed', message })
}

/** Bytes go with the area; a little less, because a smaller picture packs a little worse. */
function nextWidth(width: number, bytes: number, maxBytes: number): number {
  const fitting = Math.floor(width * Math.sqrt(maxBytes / bytes) * 0.96)
  return Math.max(1, Math.min(fitting, Math.floor(width * 0.9)))
}

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

interface ChosenFilter {
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
function chooseFilter({ bytes, width, height }: RgbPicture): ChosenFilter {
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

/** Filters of the rows of a PNG file (PNG specification, section 9), three bytes a pixel. */
export const rowFilters = ['none', 'sub', 'up', 'paeth'] as const
type RowFilter = (typeof rowFilters)[number]

const marks: Readonly<Record<RowFilter, number>> = { none: 0, sub: 1, up: 2, paeth: 4 }
const pixelBytes = 3

/** Rows `from` to `to`, each with the mark of its filter in front. */
function filterRows(
  bytes: Uint8Array,
  rowBytes: number,
  filter: RowFilter,
  from: number,
  to: number,
): Uint8Array {
  const filtered = new Uint8Array((rowBytes + 1) * (to - from))
  for (let row = from; row < to; row++) {
    const start = row * rowBytes
    const target = (row - from) * (rowBytes + 1)
    filtered[target] = marks[filter]
    if (filter === 'none') {
      filtered.set(bytes.subarray(start, start + rowBytes), target + 1)
    } else {
      write[filter](bytes, start, rowBytes, filtered, target + 1)
    }
  }
  return filtered
}

type WriteRow = (
  bytes: Uint8Array,
  start: number,
  rowBytes: number,
  into: Uint8Array,
  to: number,
) => void

const write: Readonly<Record<Exclude<RowFilter, 'none'>, WriteRow>> = {
  sub(bytes, start, rowBytes, into, to) {
    for (let at = 0; at < rowBytes; at++) {
      const left = at < pixelBytes ? 0 : (bytes[start + at - pixelBytes] as number)
      into[to + at] = (bytes[start + at] as number) - left
    }
  },
  up(bytes, start, rowBytes, into, to) {
    const above = start - rowBytes
    for (let at = 0; at < rowBytes; at++) {
      into[to + at] =
        (bytes[start + at] as number) - (above < 0 ? 0 : (bytes[above + at] as number))
    }
  },
  paeth(bytes, start, rowBytes, into, to) {
    const above = start - rowBytes
    for (let at = 0; at < rowBytes; at++) {
      const left = at < pixelBytes ? 0 : (bytes[start + at - pixelBytes] as number)
      const up = above < 0 ? 0 : (bytes[above + at] as number)
      const corner = at < pixelBytes || above < 0 ? 0 : (bytes[above + at - pixelBytes] as number)
      into[to + at] = (bytes[start + at] as number) - paeth(left, up, corner)
    }
  },
}

function paeth(left: number, up: number, corner: number): number {
  const fromLeft = Math.abs(up - corner)
  const fromUp = Math.abs(left - corner)
  const fromCorner = Math.abs(left + up - 2 * corner)
  if (fromLeft <= fromUp && fromLeft <= fromCorner) return left
  return fromUp <= fromCorner ? up : corner
}
