import type { Timer } from '../../lib/util/time.ts'
import type { CaptureBackend } from './backend.ts'
import { createNativeBackend } from './native/backend.ts'
import { createPictureMaker } from './png/picture-maker.ts'
import { type WindowCaptureLimits, windowCaptureLimits } from './window-limits.ts'
import { parentInProc } from './window/process-family.ts'
import { createX11Backend } from './x11/backend.ts'
import type { DisplayEnvironment } from './x11/display.ts'

interface WindowBackendsOptions {
  /** Of `serve`: which display is meant. */
  readonly env: DisplayEnvironment
  readonly timer: Timer
  readonly limits?: WindowCaptureLimits
}

/** The ways to a window that need nothing from the application. */
export interface WindowBackends {
  readonly native: CaptureBackend
  readonly x11: CaptureBackend
  /** Ends the threads; without it they end by themselves, and never keep the program running. */
  close(): Promise<void>
}

export function createWindowBackends(options: WindowBackendsOptions): WindowBackends {
  const { env, timer, limits = windowCaptureLimits } = options
  const shown = { env, limits, parentOf: parentInProc }
  const pictures = createPictureMaker(timer, limits)
  const native = createNativeBackend({ ...shown, timer, platform: process.platform })
  return {
    native,
    x11: createX11Backend({ ...shown, pictures }),
    async close() {
      await Promise.all([pictures.close(), native.close()])
    },
  }
}
