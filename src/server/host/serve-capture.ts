import { statSync } from 'node:fs'
import { noPresence, type Presence } from '../../lib/host-link/messages.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { ownUid } from '../../lib/util/posix.ts'
import { fail } from '../../lib/util/result.ts'
import type { CaptureBackend } from '../capture/backend.ts'
import { createHostBackend, type LinkedPictures } from '../capture/host-backend.ts'
import { nativeBackend } from '../capture/native-backend.ts'
import { captureTarget, deniedPictures, noApplication } from '../capture/target.ts'
import { WindowCapture } from '../capture/window-capture.ts'
import type { ServeCaptureOptions } from './serve-options.ts'

/**
 * The window of whichever application is linked to `serve`. `follow` is told when that comes, goes or
 * changes, `link` what asks it for pictures. Null when window capture is off: then nothing is ever
 * looked for.
 */
export function openServeCapture(
  { mode, title, backends }: ServeCaptureOptions,
  captureMs: number,
  log: Logger,
) {
  if (mode === 'off') return null
  let linked: LinkedPictures | null = null
  const onTaken = (view: 'window' | 'viewport') => linked?.captured(view)
  const ways: readonly CaptureBackend[] = [createHostBackend(() => linked), nativeBackend]
  const used = ways.filter(({ name }) => mode === 'auto' || mode === name)
  const parts = { backends: backends ?? used, captureMs, log, onTaken }
  const source = new WindowCapture(parts, noApplication)
  let isDenied = false
  let known = ''
  const follow = (presence: Presence): void => {
    const { connected, app: program, pictures, cleared } = presence
    const facts = JSON.stringify([connected, program?.pid, program?.mode, pictures, cleared])
    // Most news of an application is of its document, or that it is busy.
    if (facts === known) return
    known = facts
    // A denial outlives the connection, and also covers a window that is found by its title.
    if (connected) isDenied = pictures.denied
    const target = captureTarget(presence, title ?? null, isOwnProcess)
    source.setTarget(isDenied ? fail(deniedPictures) : target)
  }
  follow(noPresence)
  return { source, follow, link: (pictures: LinkedPictures) => void (linked = pictures) }
}

/**
 * Whether a process with this id is here, and of the same user. Null where the system does not
 * tell. An id from inside a container or sandbox is that of something else out here.
 */
function isOwnProcess(pid: number): boolean | null {
  const uid = ownUid()
  if (process.platform !== 'linux' || uid === null) return null
  return statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === uid
}
