import type { Presence } from '../../lib/host-link/messages.ts'
import { type Result, fail, ok } from '../../lib/util/result.ts'
import { applicationWords } from '../resources/errors.ts'
import type { CaptureTarget, Unavailable } from './backend.ts'

/** Before any application is there. */
export const noApplication: Unavailable = Object.freeze({
  reason: 'no_application',
  message: 'no application is connected',
  hint: 'press Connect in the application (service-cli adapter writes its add-on), or name its window with --capture-title',
})

/** Said by the person, and true of every way to a picture. */
export const deniedPictures: Unavailable = Object.freeze({
  reason: 'denied',
  message: 'the person at the application shares no picture of its window',
  hint: "it is switched on in the application: in Blender, on the add-on's page of the preferences",
})

const background: Unavailable = Object.freeze({
  reason: 'no_window',
  message: 'the application runs in the background, without a window',
  hint: 'start it with its window',
})

/**
 * Whose window may be shown: that of the linked application, or the one that the person named.
 * `isOwn`: is the process one of this user here, null when the system does not tell.
 */
export function captureTarget(
  { connected, app, cleared = '' }: Presence,
  title: string | null,
  isOwn: (pid: number) => boolean | null,
): Result<CaptureTarget, Unavailable> {
  if (title !== null) return ok({ pid: null, title })
  if (!connected || app === null) return fail(cleared ? leftBecause(cleared) : noApplication)
  const { pid, mode } = app
  if (mode === 'background') return fail(background)
  if (pid === undefined) return fail(unknownProcess('the application does not say its process id'))
  if (isOwn(pid) === false) {
    // Otherwise the windows of another process with this id would be shown as the application's.
    const message = `the application reported process id ${pid}, which is not a process of this user`
    return fail(unknownProcess(message))
  }
  return ok({ pid, title: null })
}

/** Its own words say what to do: Connect is not there in a Blender without the add-on. */
function leftBecause(reason: string): Unavailable {
  const message = noApplication.message + applicationWords(reason)
  return { ...noApplication, message, hint: 'ask the person to connect it again' }
}

function unknownProcess(message: string): Unavailable {
  const hint =
    'an application in a container or sandbox is found by --capture-title, with part of its title'
  return { reason: 'no_application', message, hint }
}
