import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { CaptureFailure } from '../backend.ts'
import { chooseFilter, encodePng } from './encode-png.ts'
import { isBlank, type RawPicture, type RgbPicture, toRgb } from './pixels.ts'
import { scaleDown } from './scale-down.ts'

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
function fit(picture: RgbPicture, form: PictureForm): Result<Picture, CaptureFailure> {
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
export function nextWidth(width: number, bytes: number, maxBytes: number): number {
  const fitting = Math.floor(width * Math.sqrt(maxBytes / bytes) * 0.96)
  return Math.max(1, Math.min(fitting, Math.floor(width * 0.9)))
}
