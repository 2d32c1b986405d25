import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { PixelLayout, RawPicture } from '../png/pixels.ts'
import type { DisplaySetup } from './setup.ts'

export interface ImageReply {
  readonly depth: number
  readonly visual: number
  readonly bytes: Buffer
}

/** How the bytes of a window's picture are to be read; what is wrong otherwise. */
export function describeImage(
  { depth, visual, bytes }: ImageReply,
  setup: DisplaySetup,
  { width, height }: { readonly width: number; readonly height: number },
): Result<RawPicture, string> {
  const format = setup.formats.get(depth)
  const colours = setup.visuals.get(visual)
  if (format === undefined || colours === undefined) return fail(`depth ${depth} is unknown`)
  const bytesPerPixel = format.bitsPerPixel / 8
  if (!colours.trueColour || !isPixelSize(bytesPerPixel)) {
    return fail(`the display has ${depth} bits a pixel, of a kind that is not read: use 16 or more`)
  }
  const { bitsPerPixel, rowPadBits } = format
  if (![8, 16, 32].includes(rowPadBits)) return fail('the rows have an unknown form')
  const stride = (Math.ceil((width * bitsPerPixel) / rowPadBits) * rowPadBits) / 8
  if (bytes.length < stride * height) return fail('it is cut short')
  const { red, green, blue } = colours
  const layout: PixelLayout = { bytesPerPixel, order: setup.imageOrder, red, green, blue }
  return ok({ bytes, width, height, stride, layout })
}

function isPixelSize(bytes: number): bytes is 2 | 3 | 4 {
  return bytes === 2 || bytes === 3 || bytes === 4
}
