import type { PixelBox } from '../../../lib/mcp/note-proof.ts'
import { type JobAnswer } from '../../thread/serve-jobs.ts'
import { encodePng } from './make-picture.ts'
import { type RgbPicture } from './pixels.ts'
import { decodeRgb } from './shrink-png.ts'

/** How two pictures of the same view differ. */
export interface PictureDifference {
  /** Of all pixels, 0 to 1. */
  readonly share: number
  /** Around all that differ, in pixels from the top left; null: none differs. */
  readonly box: PixelBox | null
  /** The second picture in grey; the pixels that differ are in colour. */
  readonly png: Uint8Array<ArrayBuffer>
}

/** Graphics cards draw the same scene with colours that are one or two apart. */
const leastDifference = 3

/** Null: the pictures are not of one size. */
export async function comparePictures(
  before: Uint8Array,
  after: Uint8Array,
): Promise<JobAnswer<PictureDifference | null>> {
  const [first, second] = [await decodeRgb(before), await decodeRgb(after)]
  if (first.width !== second.width || first.height !== second.height) {
    return { answer: null, transfer: [] }
  }
  const { count, box, shown } = mark(first, second)
  const png = new Uint8Array(encodePng(shown))
  const share = count / (first.width * first.height)
  return { answer: { share, box, png }, transfer: [png.buffer] }
}

function mark(first: RgbPicture, second: RgbPicture) {
  const { width, height } = first
  const shown = new Uint8Array(second.bytes.length)
  let [count, left, top, right, bottom] = [0, width, height, -1, -1]
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += 3) {
      if (!differs(first.bytes, second.bytes, at)) {
        shown.fill(greyOf(second.bytes, at), at, at + 3)
        continue
      }
      count++
      left = Math.min(left, x)
      right = Math.max(right, x)
      top = Math.min(top, y)
      bottom = y
      shown.set([255, Math.max(60, greyOf(second.bytes, at)), 0], at)
    }
  }
  const box = count === 0 ? null : { left, top, width: right - left + 1, height: bottom - top + 1 }
  return { count, box, shown: { bytes: shown, width, height } }
}

function differs(first: Uint8Array, second: Uint8Array, at: number): boolean {
  for (let colour = at; colour < at + 3; colour++) {
    const apart = (first[colour] as number) - (second[colour] as number)
    if (apart >= leastDifference || apart <= -leastDifference) return true
  }
  return false
}

/** Dark enough for the marked pixels to be seen. */
function greyOf(bytes: Uint8Array, at: number): number {
  const sum = (bytes[at] as number) + (bytes[at + 1] as number) + (bytes[at + 2] as number)
  return Math.round(sum / 6)
}
