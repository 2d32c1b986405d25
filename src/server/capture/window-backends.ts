import type { Timer } from '../../lib/util/time.ts'
import { createNativeBackend } from './native/backend.ts'
import { createPictureMaker } from './png/picture-maker.ts'
import { type WindowCaptureLimits, windowCaptureLimits } from './window-limits.ts'
import { parentInProc } from './window/process-family.ts'
import { createX11Backend } from './x11/backend.ts'
import type { DisplayEnvironment } from './x11/display.ts'

interface WindowBackendsOptions {
  /** The environment of `serve`, which names the display. */
  readonly env: DisplayEnvironment
  readonly timer: Timer
  readonly limits?: WindowCaptureLimits
}

/** The ways to a window that need nothing from the application. */
export function createWindowBackends(options: WindowBackendsOptions) {
  const { env, timer, limits = windowCaptureLimits } = options
  const shown = { env, limits, parentOf: parentInProc }
  const pictures = createPictureMaker(limits)
  return {
    native: createNativeBackend({ ...shown, timer, platform: process.platform }),
    x11: createX11Backend({ ...shown, pictures }),
  }
}
