import { PNG } from 'pngjs'
import { fail, type Result } from '../../../lib/util/result.ts'
import type { CaptureFailure } from '../backend.ts'
import { fit, type Picture, type PictureForm } from './make-picture.ts'
import { rgbaLayout, type RgbPicture, toRgb } from './pixels.ts'

/** Transparent pixels are shown on grey, where both dark and bright objects can be seen. */
const ground = 128

/** A smaller copy of any PNG file. Takes as long as `makePicture`, and reading the file besides. */
export async function shrinkPng(
  file: Uint8Array,
  form: PictureForm,
): Promise<Result<Picture, CaptureFailure>> {
  const rgb = rgbOf(await decode(file))
  return rgb.ok ? fit(rgb.value, form) : fail({ reason: 'failed', message: rgb.failure })
}

/** The pixels of any PNG file. Rejects for a damaged one. */
export async function decodeRgb(file: Uint8Array): Promise<RgbPicture> {
  const rgb = rgbOf(await decode(file))
  if (!rgb.ok) throw new Error(rgb.failure)
  return rgb.value
}

function rgbOf({ data, width, height }: PNG): Result<RgbPicture, string> {
  for (let at = 0; at < data.length; at += 4) {
    const share = (data[at + 3] as number) / 255
    if (share === 1) continue
    for (let colour = at; colour < at + 3; colour++) {
      data[colour] = Math.round((data[colour] as number) * share + ground * (1 - share))
    }
  }
  return toRgb({ bytes: data, width, height, stride: width * 4, layout: rgbaLayout })
}

/** Eight bits a colour and transparency, whatever the file has. Rejects for a damaged file. */
function decode(file: Uint8Array): Promise<PNG> {
  return new Promise((resolve, reject) => {
    new PNG().parse(Buffer.from(file.buffer, file.byteOffset, file.byteLength), (error, png) =>
      error ? reject(error) : resolve(png),
    )
  })
}
