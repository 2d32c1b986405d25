import { disableTypes, imageSize, types } from 'image-size'
import pLimit from 'p-limit'
import type { Sharp, SharpOptions } from 'sharp'
import type { PixelBox } from '../../lib/mcp/note-proof.ts'

/** What models take as pictures, by the names that image-size has for them. */
const mimeTypes: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
}
disableTypes(types.filter(type => !Object.hasOwn(mimeTypes, type)))

interface PictureFacts {
  readonly mimeType: string
  readonly width: number
  readonly height: number
}

/** What the first bytes say; null: no PNG, JPEG, GIF or WebP picture. */
export function pictureFacts(bytes: Uint8Array): PictureFacts | null {
  try {
    const { type = '', width, height } = imageSize(bytes)
    const mimeType = mimeTypes[type]
    return mimeType === undefined ? null : { mimeType, width, height }
  } catch {
    return null
  }
}

/** The optional package, loaded for the first picture that needs it; null: not installed here. */
let loading: Promise<typeof import('sharp').default | null> | undefined

/** A picture takes hundreds of megabytes on its way. */
const oneAtATime = pLimit(1)

const options: SharpOptions = { limitInputPixels: 64_000_000, pages: 1 }

/** Transparent pixels are shown on grey, where both dark and bright objects can be seen. */
const background = { r: 128, g: 128, b: 128 }

function loadSharp() {
  loading ??= import('sharp').then(
    module => module.default,
    () => null,
  )
  return loading
}

/** Whether `encode` makes no picture at all. */
export async function lacksSharp(): Promise<boolean> {
  return (await loadSharp()) === null
}

/** Null: sharp is not installed, or cannot read the picture. */
async function withSharp<Made>(
  { bytes, channels, ...size }: Picture,
  make: (source: Sharp) => Promise<Made>,
): Promise<Made | null> {
  const sharp = await loadSharp()
  if (sharp === null) return null
  return oneAtATime(async () => {
    try {
      if (channels !== undefined) {
        // What a system says of the transparency of a window means nothing.
        const raw = { ...size, channels }
        return await make(sharp(bytes, { ...options, raw }).removeAlpha())
      }
      const source = sharp(bytes, options).flatten({ background })
      return await make(source.toColourspace('srgb'))
    } catch {
      return null
    }
  })
}

interface Picture {
  /** A picture file; pixels in rows from the top when `channels` says their bytes. */
  readonly bytes: Uint8Array
  readonly width: number
  readonly height: number
  readonly channels?: 3 | 4
}

interface PictureBounds {
  readonly maxWidth: number
  readonly maxHeight?: number
  readonly maxBytes: number
}

/** Whether a picture file is within the bounds as it is. */
export function fits(
  { width, height }: Pick<PictureFacts, 'width' | 'height'>,
  bytes: number,
  { maxWidth, maxHeight = Infinity, maxBytes }: PictureBounds,
): boolean {
  return width <= maxWidth && height <= maxHeight && bytes <= maxBytes
}

/**
 * A PNG file within the bounds: the given one when it is, else a smaller copy. Null: it needs to be
 * made smaller and cannot be.
 */
export async function fitPng(file: Buffer, bounds: PictureBounds) {
  const facts = pictureFacts(file)
  if (facts === null) return null
  const { mimeType, width, height } = facts
  if (mimeType === 'image/png' && fits(facts, file.length, bounds)) {
    return { png: file, width, height }
  }
  const made = await encode({ bytes: file, width, height }, bounds, 'png')
  return made && { png: made.data, width: made.width, height: made.height }
}

/** Colours of JPEG are as sharp as its brightness: text in a window needs it. */
const formats = { png: {}, jpeg: { quality: 85, chromaSubsampling: '4:4:4' } } as const

/** Rounds of making a file smaller that has too many bytes. */
const maxRounds = 8

/** A file within the bounds; null: it cannot be made. */
export function encode(
  picture: Picture,
  { maxWidth, maxHeight = Infinity, maxBytes }: PictureBounds,
  format: keyof typeof formats,
) {
  const { width, height } = picture
  return withSharp(picture, async source => {
    let scale = Math.min(1, maxWidth / width, maxHeight / height)
    for (let round = 0; round < maxRounds; round++) {
      const size = [width, height].map(side => Math.max(1, Math.floor(side * scale)))
      // Always of the first picture: a copy of a copy would blur.
      const scaled = source.clone().resize(size[0], size[1], { fit: 'fill' })
      const { data, info } = await scaled
        .toFormat(format, formats[format])
        .toBuffer({ resolveWithObject: true })
      if (data.length <= maxBytes) return { data, width: info.width, height: info.height }
      // Bytes go with the area; a little less, because a smaller picture packs a little worse.
      scale *= Math.min(0.9, Math.sqrt(maxBytes / data.length) * 0.95)
    }
    return null
  })
}

/** How two pictures of the same view differ. */
export interface PictureDifference {
  /** Of all pixels, 0 to 1. */
  readonly share: number
  /** Around all that differ, in pixels from the top left; null: none differs. */
  readonly box: PixelBox | null
  /** The second picture in grey; the pixels that differ are in colour. */
  readonly png: Buffer
}

/** Null: the pictures are not of one size, one is damaged, or sharp is not installed. */
export async function comparePictures(
  before: Uint8Array,
  after: Uint8Array,
): Promise<PictureDifference | null> {
  const [first, second] = [await pixelsOf(before), await pixelsOf(after)]
  if (first === null || second === null) return null
  const { width, height } = second.info
  if (first.info.width !== width || first.info.height !== height) return null
  const { count, box, shown } = mark(first.data, second.data, width)
  const bounds = { maxWidth: width, maxBytes: Infinity }
  const picture = await encode({ bytes: shown, width, height, channels: 3 }, bounds, 'png')
  return picture && { share: count / (width * height), box, png: picture.data }
}

/** Three bytes a pixel. */
function pixelsOf(bytes: Uint8Array) {
  return withSharp({ bytes, width: 0, height: 0 }, source =>
    source.raw().toBuffer({ resolveWithObject: true }),
  )
}

/** Graphics cards draw the same scene with colours that are one or two apart. */
const leastDifference = 3

function mark(before: Uint8Array, after: Uint8Array, width: number) {
  const shown = new Uint8Array(after.length)
  let [count, left, top, right, bottom] = [0, width, 0, -1, -1]
  for (let at = 0; at < after.length; at += 3) {
    const [red = 0, green = 0, blue = 0] = [after[at], after[at + 1], after[at + 2]]
    // Dark enough for the marked pixels to be seen.
    const grey = Math.round((red + green + blue) / 6)
    const apart = Math.max(
      Math.abs(red - (before[at] ?? 0)),
      Math.abs(green - (before[at + 1] ?? 0)),
      Math.abs(blue - (before[at + 2] ?? 0)),
    )
    if (apart < leastDifference) {
      shown.fill(grey, at, at + 3)
      continue
    }
    shown[at] = 255
    shown[at + 1] = Math.max(60, grey)
    const [x, y] = [(at / 3) % width, Math.floor(at / 3 / width)]
    if (count++ === 0) top = y
    left = Math.min(left, x)
    right = Math.max(right, x)
    bottom = y
  }
  const box = count === 0 ? null : { left, top, width: right - left + 1, height: bottom - top + 1 }
  return { count, box, shown }
}
