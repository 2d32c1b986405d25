import { systemTimer, type Timer } from '../../lib/timer.ts'
import type { CaptureBackend } from './backend.ts'
import { createNativeBackend } from './native/backend.ts'
import { createPictureMaker } from './png/picture-maker.ts'
import { type WindowCaptureLimits, windowCaptureLimits } from './window-limits.ts'
import { parentInProc } from './window/process-family.ts'
import { createX11Backend } from './x11/backend.ts'
import type { DisplayEnvironment } from './x11/display.ts'

export interface WindowBackendOptions {
  /** Of `serve`: which display is meant. */
  readonly env: DisplayEnvironment
  readonly timer?: Timer
  readonly limits?: WindowCaptureLimits
}

/** A way to a window that needs nothing from the application. */
export interface WindowBackend extends CaptureBackend {
  /** Ends its thread, which otherwise ends by itself, and never keeps the program running. */
  close(): Promise<void>
}

export function openWindowBackend(
  name: 'native' | 'x11',
  { env, timer = systemTimer, limits = windowCaptureLimits }: WindowBackendOptions,
): WindowBackend {
  const shown = { env, limits, parentOf: parentInProc }
  if (name === 'native') {
    return createNativeBackend({ ...shown, timer, platform: process.platform })
  }
  const pictures = createPictureMaker(timer, limits)
  return { ...createX11Backend({ ...shown, pictures }), close: () => pictures.close() }
}
