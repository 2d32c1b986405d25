import { messageOf } from '../../../lib/util/errors.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { CaptureFailure, CaptureTarget } from '../backend.ts'
import { chooseWindow, type InFamily, ownersWith } from '../window/choose-window.ts'
import { familyOf, type ParentOf } from '../window/process-family.ts'
import type { WindowCaptureLimits } from '../window-limits.ts'
import {
  type Desktop,
  type DisplayEnvironment,
  type OpenDisplay,
  openDisplay,
  readDesktop,
} from './display.ts'
import {
  readAbove,
  readWindow,
  readWindows,
  sharesFrame,
  whatHides,
  type X11Window,
} from './windows.ts'

export interface ShownWindowOptions {
  readonly env: DisplayEnvironment
  readonly parentOf: ParentOf
  readonly limits: WindowCaptureLimits
}

/** Takes a picture of a window that was chosen and checked. */
type Shoot<Shot> = (
  display: OpenDisplay,
  window: X11Window,
) => Promise<Result<Shot, CaptureFailure>>

interface ShotOf<Shot> {
  readonly window: X11Window
  readonly shot: Shot
}

/**
 * A picture of the application's window, and of nothing that belongs to another program: whether
 * the window is to be seen is looked at before and after.
 */
export async function shootShown<Shot>(
  options: ShownWindowOptions,
  target: CaptureTarget,
  signal: AbortSignal,
  shoot: Shoot<Shot>,
): Promise<Result<ShotOf<Shot>, CaptureFailure>> {
  const { env, limits, parentOf } = options
  const opened = await openDisplay(env, limits, signal)
  if (!opened.ok) {
    return fail(signal.aborted ? tooLong : { reason: 'no_display', message: opened.failure })
  }
  try {
    const inFamily = familyOf(target.pid, parentOf, limits.maxProcessDepth)
    return await shootOn({ display: opened.value, limits, inFamily }, target, shoot)
  } catch (error) {
    if (signal.aborted) return fail(tooLong)
    const message = messageOf(error)
    return fail({ reason: 'failed', message })
  } finally {
    opened.value.connection.close()
  }
}

const tooLong: CaptureFailure = { reason: 'timeout', message: 'the display took too long' }

export const changed: CaptureFailure = {
  reason: 'failed',
  message: 'the window changed while its picture was taken: read again',
}

interface Scene {
  readonly display: OpenDisplay
  readonly limits: WindowCaptureLimits
  readonly inFamily: InFamily
}

async function shootOn<Shot>(
  scene: Scene,
  target: CaptureTarget,
  shoot: Shoot<Shot>,
): Promise<Result<ShotOf<Shot>, CaptureFailure>> {
  const { display, limits, inFamily } = scene
  const before = await look(scene)
  if (!before.ok) return before
  const windows = await readWindows(before.value, target, inFamily, limits)
  const chosen = chooseWindow(windows, target, inFamily)
  if (!chosen.ok) return chosen
  const window = chosen.value
  const isOwner = ownersWith(window, target)
  const shown = await checkShown(before.value, window, isOwner, limits)
  if (!shown.ok) return shown
  if (window.width * window.height > limits.maxWindowPixels) {
    const size = `${window.width} x ${window.height}`
    const message = `the window has ${size} pixels, more than ${limits.maxWindowPixels}`
    return fail({ reason: 'failed', message })
  }
  const shot = await shoot(display, window)
  if (!shot.ok) return shot
  const still = await checkAgain(scene, window, isOwner)
  return still.ok ? ok({ window, shot: shot.value }) : still
}

/** Something may have come above it, or it was moved, while the picture was taken. */
async function checkAgain(
  scene: Scene,
  window: X11Window,
  isOwner: InFamily,
): Promise<Result<null, CaptureFailure>> {
  const after = await look(scene)
  if (!after.ok) return after
  const again = await readWindow(after.value, window, scene.limits.maxWindowDepth)
  if (again === null || again.minimised) return fail(changed)
  return checkShown(after.value, again, isOwner, scene.limits)
}

async function look({ display, limits }: Scene): Promise<Result<Desktop, CaptureFailure>> {
  const { connection, screenNumber } = display
  const desktop = await readDesktop(connection, screenNumber, limits)
  if (desktop.ok) return desktop
  return fail(
    desktop.failure === 'no_screen'
      ? { reason: 'no_display', message: `the display has no screen ${screenNumber}` }
      : { reason: 'failed', message: 'no window manager runs on the display' },
  )
}

/** Refuses a window of which a picture would show what belongs to others. */
async function checkShown(
  desktop: Desktop,
  window: X11Window,
  inFamily: InFamily,
  { maxWindowDepth }: WindowCaptureLimits,
): Promise<Result<null, CaptureFailure>> {
  if (await sharesFrame(desktop, window, inFamily, maxWindowDepth)) {
    const message = "the window shares its frame with another program's"
    return fail({ reason: 'covered', message })
  }
  if (desktop.composited) return ok(null)
  const above = await readAbove(desktop, window, inFamily, maxWindowDepth)
  switch (whatHides(window, desktop.screen, above)) {
    case 'covered':
      return fail({
        reason: 'covered',
        message:
          "another program's window covers the application's, and without a compositor the picture would show it: move it away, or start a compositor",
      })
    case 'off_screen':
      return fail({
        reason: 'failed',
        message:
          'the window is partly outside the screen, where without a compositor nothing is drawn: move it inside, or start a compositor',
      })
    case null:
      return ok(null)
  }
}
