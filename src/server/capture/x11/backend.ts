import { fail, ok, type Result } from '../../../lib/result.ts'
import type { CaptureBackend, CaptureFailure, CaptureForm, CaptureTarget } from '../backend.ts'
import type { PictureMaker } from '../png/picture-maker.ts'
import type { RawPicture } from '../png/pixels.ts'
import { chooseWindow, type InFamily } from '../window/choose-window.ts'
import { familyOf, type ParentOf } from '../window/process-family.ts'
import type { WindowCaptureLimits } from '../window-limits.ts'
import { RequestRefused } from './connection.ts'
import { type Desktop, readDesktop } from './desktop.ts'
import { type DisplayEnvironment, type OpenDisplay, openDisplay } from './display.ts'
import { checkShown } from './hidden.ts'
import { probeDisplay } from './probe.ts'
import { describeImage } from './window-picture.ts'
import { readWindow, readWindows, type X11Window } from './windows.ts'
import { replies, requests } from './wire.ts'

export interface X11Options {
  readonly env: DisplayEnvironment
  readonly pictures: PictureMaker
  readonly parentOf: ParentOf
  readonly limits: WindowCaptureLimits
}

interface Taken {
  readonly window: X11Window
  readonly raw: RawPicture
}

/** Speaks to the X server itself: nothing has to be installed. */
export function createX11Backend(options: X11Options): CaptureBackend {
  return {
    name: 'x11',
    probe: () => probeDisplay(options.env, options.limits),
    async capture(target, form) {
      const taken = await take(options, target, form)
      if (!taken.ok) return taken
      const { window, raw } = taken.value
      const picture = await options.pictures.make(raw, form)
      if (!picture.ok) return picture
      const { title, width, height } = window
      return ok({ ...picture.value, window: { title, width, height } })
    },
  }
}

async function take(
  { env, limits, parentOf }: X11Options,
  target: CaptureTarget,
  form: CaptureForm,
): Promise<Result<Taken, CaptureFailure>> {
  const signal = AbortSignal.any([form.signal, AbortSignal.timeout(limits.displayTimeoutMs)])
  const opened = await openDisplay(env, limits, signal)
  if (!opened.ok) {
    if (signal.aborted) return fail(tooLong)
    return fail({ reason: 'no_display', message: opened.failure })
  }
  try {
    const inFamily = familyOf(target.pid, parentOf, limits.maxProcessDepth)
    return await takeFrom(opened.value, target, inFamily, limits)
  } catch (error) {
    if (signal.aborted) return fail(tooLong)
    const message = error instanceof Error ? error.message : String(error)
    return fail({ reason: 'failed', message })
  } finally {
    opened.value.connection.close()
  }
}

const tooLong: CaptureFailure = { reason: 'timeout', message: 'the display took too long' }

async function takeFrom(
  display: OpenDisplay,
  target: CaptureTarget,
  inFamily: InFamily,
  limits: WindowCaptureLimits,
): Promise<Result<Taken, CaptureFailure>> {
  const before = await look(display, limits)
  if (!before.ok) return before
  const windows = await readWindows(before.value, target, inFamily, limits)
  const chosen = chooseWindow(windows, target, inFamily)
  if (!chosen.ok) return chosen
  const shown = await checkShown(before.value, chosen.value, inFamily, limits)
  if (!shown.ok) return shown
  const raw = await readImage(display, chosen.value, limits)
  if (!raw.ok) return raw
  // Something may have come above it, or it moved, while the picture was taken.
  const after = await look(display, limits)
  if (!after.ok) return after
  const window = await readWindow(after.value, chosen.value, limits.maxWindowDepth)
  if (window === null || window.minimised) return fail(changed)
  const stillShown = await checkShown(after.value, window, inFamily, limits)
  if (!stillShown.ok) return stillShown
  return ok({ window: chosen.value, raw: raw.value })
}

const changed: CaptureFailure = {
  reason: 'failed',
  message: 'the window changed while its picture was taken: read again',
}

async function look(
  { connection, screenNumber }: OpenDisplay,
  limits: WindowCaptureLimits,
): Promise<Result<Desktop, CaptureFailure>> {
  const desktop = await readDesktop(connection, screenNumber, limits)
  if (desktop.ok) return desktop
  return fail(
    desktop.failure === 'no_screen'
      ? { reason: 'no_display', message: `the display has no screen ${screenNumber}` }
      : { reason: 'failed', message: 'no window manager runs on the display' },
  )
}

async function readImage(
  { connection }: OpenDisplay,
  { id, width, height }: X11Window,
  { maxWindowPixels }: WindowCaptureLimits,
): Promise<Result<RawPicture, CaptureFailure>> {
  if (width * height > maxWindowPixels) {
    const message = `the window has ${width} x ${height} pixels, more than ${maxWindowPixels}`
    return fail({ reason: 'failed', message })
  }
  try {
    const reply = await connection.ask(requests.getImage(id, width, height))
    const raw = describeImage(replies.image(reply), connection.setup, { width, height })
    if (raw.ok) return raw
    return fail({ reason: 'failed', message: `the picture cannot be read: ${raw.failure}` })
  } catch (error) {
    if (error instanceof RequestRefused) return fail(changed)
    throw error
  }
}
