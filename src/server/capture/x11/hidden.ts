import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { CaptureFailure } from '../backend.ts'
import type { InFamily } from '../window/choose-window.ts'
import type { WindowCaptureLimits } from '../window-limits.ts'
import { readAbove, sharesFrame, whatHides } from './covered.ts'
import type { Desktop } from './desktop.ts'
import type { X11Window } from './windows.ts'

/** Refuses a window of which a picture would show what belongs to others. */
export async function checkShown(
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
