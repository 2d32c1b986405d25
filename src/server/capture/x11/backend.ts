import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { CaptureBackend, CaptureFailure } from '../backend.ts'
import type { PictureMaker } from '../png/picture-maker.ts'
import type { PixelLayout, RawPicture } from '../png/pixels.ts'
import { RequestRefused } from './connection.ts'
import { type OpenDisplay, probeDisplay } from './display.ts'
import { changed, shootShown, type ShownWindowOptions } from './shown-window.ts'
import type { X11Window } from './windows.ts'
import { replies, requests } from './wire.ts'
import type { DisplaySetup } from './setup.ts'

interface X11Options extends ShownWindowOptions {
  readonly pictures: PictureMaker
}

/** Speaks to the X server itself: nothing has to be installed. */
export function createX11Backend(options: X11Options): CaptureBackend {
  const { env, limits, pictures } = options
  return {
    name: 'x11',
    probe: () => probeDisplay(env, limits),
    async capture(target, form) {
      const signal = AbortSignal.any([form.signal, AbortSignal.timeout(limits.displayTimeoutMs)])
      const taken = await shootShown(options, target, signal, readImage)
      if (!taken.ok) return taken
      const { title, width, height } = taken.value.window
      const picture = await pictures.make(taken.value.shot, form)
      return picture.ok ? ok({ ...picture.value, window: { title, width, height } }) : picture
    },
    close: () => pictures.close(),
  }
}

async function readImage(
  { connection }: OpenDisplay,
  { id, width, height }: X11Window,
): Promise<Result<RawPicture, CaptureFailure>> {
  try {
    const reply = await connection.ask(requests.getImage(id, width, height))
    const raw = describeImage(replies.image(reply), connection.setup, { width, height })
    if (raw.ok) return raw
    return fail({ reason: 'failed', message: `the picture cannot be read: ${raw.failure}` })
  } catch (error) {
    // It has become smaller, was closed or put away.
    if (error instanceof RequestRefused) return fail(changed)
    throw error
  }
}

interface ImageReply {
  readonly depth: number
  readonly visual: number
  readonly bytes: Buffer
}

/** How the bytes of a window's picture are to be read; what is wrong otherwise. */
export function describeImage(
  { depth, visual, bytes }: ImageReply,
  setup: DisplaySetup,
  { width, height }: { width: number; height: number },
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
