import { statSync } from 'node:fs'
import type { Logger } from '../../lib/util/logger.ts'
import { ownUid } from '../../lib/util/posix.ts'
import { fail } from '../../lib/util/result.ts'
import type { AppCapture, LinkedPictures } from '../capture/host-backend.ts'
import { type CaptureLimits, resolveCaptureLimits } from '../capture/limits.ts'
import { openBackends } from '../capture/open-backends.ts'
import {
  type AppPresence,
  captureTarget,
  deniedPictures,
  noApplication,
} from '../capture/target.ts'
import { WindowCapture } from '../capture/window-capture.ts'
import type { ServeCaptureOptions } from './serve-options.ts'

/** The window of whichever application is linked to `serve`. */
interface ServeCapture {
  readonly source: WindowCapture
  /** The application came, went or changed. */
  follow(presence: AppPresence): void
  /** What asks the application for pictures: it is there later than this. */
  link(app: LinkedPictures): void
}

const noPresence: AppPresence = { connected: false, app: null }

/** Null when window capture is off: then no backend is loaded, nothing ever asked. */
export async function openServeCapture(
  { mode, title, backends }: ServeCaptureOptions,
  limits: Partial<CaptureLimits> | undefined,
  log: Logger,
): Promise<ServeCapture | null> {
  if (mode === 'off') return null
  let linked: LinkedPictures | null = null
  const app: AppCapture = {
    offered: view => linked?.offered(view) ?? fail(noApplication),
    offersShots: () => linked?.offersShots?.() === true,
    ask: form => linked?.ask(form) ?? Promise.resolve(fail(notLinked)),
  }
  const source = new WindowCapture(
    {
      mode,
      backends: backends ?? (await openBackends(mode, app)),
      limits: resolveCaptureLimits(limits),
      log,
      onTaken: view => linked?.captured(view),
    },
    noApplication,
  )
  let isDenied = false
  const follow = (presence: AppPresence): void => {
    // A denial outlives the connection, and also covers a window that is found by its title.
    if (presence.connected) isDenied = presence.pictures?.denied === true
    const target = captureTarget(presence, title ?? null, isOwnProcess)
    source.aim(isDenied ? fail(deniedPictures) : target)
  }
  follow(noPresence)
  return { source, follow, link: pictures => void (linked = pictures) }
}

const notLinked = {
  reason: 'host_disconnected',
  message: 'the application is not connected',
} as const

/**
 * Whether a process with this id is here, and of the same user. Null where the system does not
 * tell. An id from inside a container or sandbox is that of something else out here.
 */
function isOwnProcess(pid: number): boolean | null {
  const uid = ownUid()
  if (process.platform !== 'linux' || uid === null) return null
  return statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === uid
}
