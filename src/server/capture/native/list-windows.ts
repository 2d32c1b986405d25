import type { CaptureTarget } from '../backend.ts'
import { type InFamily, isMeant, type WindowFacts } from '../window/choose-window.ts'
import type { NativeWindow } from './library.ts'

/**
 * The windows that may be the application's. Each question is asked alone, because a window may be
 * gone or have no answer; of others' windows nothing more is asked, as each question costs a look
 * at all windows on some systems.
 */
export function listWindows(
  windows: readonly NativeWindow[],
  target: CaptureTarget,
  inFamily: InFamily,
): WindowFacts[] {
  return windows.flatMap(window => {
    const id = asked(() => window.id())
    const pid = target.title === null ? pidOf(window) : null
    const title = target.title === null ? '' : titleOf(window)
    if (id === null || !isMeant({ pid, title }, target, inFamily)) return []
    const width = asked(() => window.width())
    const height = asked(() => window.height())
    if (width === null || height === null) return []
    return {
      id,
      pid: pidOf(window),
      title: titleOf(window),
      width,
      height,
      z: asked(() => window.z()) ?? 0,
      active: asked(() => window.isFocused()) ?? false,
      minimised: asked(() => window.isMinimized()) ?? false,
      // The library does not tell what kind of a window it is.
      dialog: false,
    }
  })
}

function pidOf(window: NativeWindow): number | null {
  const pid = asked(() => window.pid())
  return pid !== null && pid > 0 ? pid : null
}

export function titleOf(window: NativeWindow): string {
  return asked(() => window.title())?.replace(/\p{Cc}+/gu, ' ') ?? ''
}

export function asked<Value>(question: () => Value): Value | null {
  try {
    return question()
  } catch {
    return null
  }
}
