import { messageOf } from '../../../lib/util/message-of.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { Unavailable } from '../backend.ts'
import type { WindowCaptureLimits } from '../window-limits.ts'
import { readDesktop } from './desktop.ts'
import { type DisplayEnvironment, openDisplay } from './display.ts'

/** Whether windows of an X display can be seen from here. */
export async function probeDisplay(
  env: DisplayEnvironment,
  limits: WindowCaptureLimits,
): Promise<Result<null, Unavailable>> {
  // The contract of a probe: a second at most.
  const signal = AbortSignal.timeout(Math.min(limits.displayTimeoutMs, 1000))
  const opened = await openDisplay(env, limits, signal)
  if (!opened.ok) return fail(noDisplay(opened.failure, env))
  const { connection, screenNumber } = opened.value
  try {
    const desktop = await readDesktop(connection, screenNumber, limits)
    if (desktop.ok) return ok(null)
    return fail(
      desktop.failure === 'no_screen'
        ? noDisplay(`display ${env.DISPLAY} has no screen ${screenNumber}`, env)
        : noWindowManager(env),
    )
  } catch (error) {
    return fail(noDisplay(messageOf(error), env))
  } finally {
    connection.close()
  }
}

function noDisplay(message: string, env: DisplayEnvironment): Unavailable {
  const hint = env.WAYLAND_DISPLAY
    ? 'windows of Wayland itself cannot be seen from outside: start the application under XWayland, or let it draw itself through its add-on'
    : 'start serve in the session of the desktop, with its DISPLAY and XAUTHORITY'
  return { reason: 'no_display', message, hint }
}

function noWindowManager(env: DisplayEnvironment): Unavailable {
  return {
    reason: 'no_window_manager',
    message: `no window manager runs on display ${env.DISPLAY}, so its windows are not listed`,
    hint: 'start one there, for example openbox',
  }
}
