import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { CaptureFailure } from '../backend.ts'
import type { JobAnswer } from '../../thread/serve-jobs.ts'
import type { Picture } from './make-picture.ts'

/** How the pixels of a picture lie in memory. */
export interface PixelLayout {
  readonly bytesPerPixel: 2 | 3 | 4
  /** Of the bytes of a pixel. */
  readonly order: 'little' | 'big'
  /** The bits of each colour in the number that a pixel is. */
  readonly red: number
  readonly green: number
  readonly blue: number
}

/** A picture as a display or a library gives it. Transparency is not looked at. */
export interface RawPicture {
  readonly bytes: Uint8Array
  readonly width: number
  readonly height: number
  /** Bytes from the beginning of a row to that of the next. */
  readonly stride: number
  readonly layout: PixelLayout
}

/** Three bytes a pixel, red, green and blue, without gaps. */
export interface RgbPicture {
  readonly bytes: Uint8Array
  readonly width: number
  readonly height: number
}

export const rgbaLayout: PixelLayout = {
  bytesPerPixel: 4,
  order: 'little',
  red: 0xff,
  green: 0xff00,
  blue: 0xff0000,
}

/** Converts a picture to RGB, or says what is wrong with it. */
export function toRgb(raw: RawPicture): Result<RgbPicture, string> {
  const { bytes, width, height, stride, layout } = raw
  const { bytesPerPixel, order } = layout
  if (!(width > 0 && height > 0)) return fail('it has no pixels')
  if (stride < width * bytesPerPixel) return fail('its rows are shorter than its width')
  if (bytes.length < stride * (height - 1) + width * bytesPerPixel) return fail('it is cut short')
  const masks = [layout.red, layout.green, layout.blue]
  if (masks.some(mask => bitsOf(mask) === null)) return fail('its colours are unknown')
  const rgb = new Uint8Array(width * height * 3)
  const [red, green, blue] = masks.map(mask => wholeByte(mask, bytesPerPixel, order))
  if (red !== undefined && green !== undefined && blue !== undefined) {
    if (red < 0 || green < 0 || blue < 0) copyBits(raw, masks, rgb)
    else copyBytes(raw, [red, green, blue], rgb)
  }
  return ok({ bytes: rgb, width, height })
}

/** Where in a pixel the byte of a colour is, or -1 when its bits are not just one byte. */
function wholeByte(mask: number, bytesPerPixel: number, order: 'little' | 'big'): number {
  for (let index = 0; index < bytesPerPixel; index++) {
    if (mask === (0xff << (8 * index)) >>> 0) {
      return order === 'little' ? index : bytesPerPixel - 1 - index
    }
  }
  return -1
}

function copyBytes(
  { bytes, width, height, stride, layout: { bytesPerPixel } }: RawPicture,
  [red, green, blue]: [number, number, number],
  rgb: Uint8Array,
): void {
  let to = 0
  for (let y = 0; y < height; y++) {
    let from = y * stride
    for (let x = 0; x < width; x++, from += bytesPerPixel, to += 3) {
      rgb[to] = bytes[from + red] as number
      rgb[to + 1] = bytes[from + green] as number
      rgb[to + 2] = bytes[from + blue] as number
    }
  }
}

/** Any colour depth: 5 and 6 bits of a small display, 10 bits of a good one. */
function copyBits(raw: RawPicture, masks: number[], rgb: Uint8Array): void {
  const { bytes, width, height, stride, layout } = raw
  const { bytesPerPixel, order } = layout
  const colours = masks.map(mask => bitsOf(mask) ?? { shift: 0, most: 1 })
  let to = 0
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const from = y * stride + x * bytesPerPixel
      let pixel = 0
      for (let index = 0; index < bytesPerPixel; index++) {
        const place = order === 'little' ? index : bytesPerPixel - 1 - index
        pixel = (pixel | ((bytes[from + place] as number) << (8 * index))) >>> 0
      }
      for (const { shift, most } of colours) {
        const value = (pixel >>> shift) % (most + 1)
        rgb[to++] = Math.round((value * 255) / most)
      }
    }
  }
}

/** Null for no bits, and for bits that are not next to each other. */
function bitsOf(mask: number): { readonly shift: number; readonly most: number } | null {
  if (mask === 0) return null
  const shift = 31 - Math.clz32(mask & -mask)
  const most = mask >>> shift
  return (most & (most + 1)) === 0 ? { shift, most } : null
}

/** A window that nothing was drawn in yet, or that may not be seen, has one colour only. */
export function isBlank({ bytes }: RgbPicture): boolean {
  const [red, green, blue] = bytes
  for (let at = 3; at < bytes.length; at += 3) {
    if (bytes[at] !== red || bytes[at + 1] !== green || bytes[at + 2] !== blue) return false
  }
  return true
}

/** A picture on its way between threads, which know no `Buffer`. */
export interface PackedPicture {
  readonly png: Uint8Array<ArrayBuffer>
  readonly width: number
  readonly height: number
}

type Packed = Result<PackedPicture, CaptureFailure>

export function packPicture(made: Result<Picture, CaptureFailure>): JobAnswer<Packed> {
  if (!made.ok) return { answer: made, transfer: [] }
  // Small buffers share their memory with others, and cannot be handed over.
  const png = new Uint8Array(made.value.png)
  return { answer: ok({ ...made.value, png }), transfer: [png.buffer] }
}

export function unpackPicture(packed: Packed): Result<Picture, CaptureFailure> {
  if (!packed.ok) return packed
  const { png, width, height } = packed.value
  return ok({ png: Buffer.from(png.buffer, png.byteOffset, png.byteLength), width, height })
}

/** The first bytes of every PNG file. */
export const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

export function startsAsPng(bytes: Buffer): boolean {
  return bytes.subarray(0, pngSignature.length).equals(pngSignature)
}
