import type { HostLimits } from './limits.ts'
import { type Clock, monotonicClock, systemClock, systemTimer } from '../../lib/util/time.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { Secret } from '../../lib/util/secret.ts'
import { makeAppOrigins } from './app-origins.ts'
import { EventBuffers } from './event-buffers.ts'
import { AppLink } from './link/app-link.ts'
import type { LinkDeps } from './link/link-deps.ts'
import type { Presence } from './link/presence.ts'
import { createLinkUpgrade } from './link/upgrade.ts'
import { createHostRoutes, type HostRefused } from './routes.ts'
import type { ArtefactStore } from '../artefacts/store.ts'
import type { AuditLog } from '../resources/audit-log.ts'
import type { Checkpoints } from '../checkpoints/checkpoints.ts'
import type { NoteWriter } from '../notes/note-posts.ts'
import type { Notes } from '../notes/notes.ts'
import type { ClientsSource } from '../resources/clients.ts'
import type { SceneState } from '../resources/scene/state.ts'
import type { SessionEventBuffer } from '../resources/session-event-buffer.ts'

interface HostEndpointDeps {
  readonly sink: HostSink
  readonly registry: LinkDeps['registry']
  readonly token: Secret
  /** Web origins whose pages may be the application. Default: none. */
  readonly appOrigins?: readonly string[]
  readonly identity: { readonly name: string; readonly version: string }
  readonly limits: HostLimits
  readonly log: Logger
  readonly clock?: Clock
  /** A fresh link that logs a browser in to the page; null: there is no page. */
  readonly pageLogin?: () => object | null
  onPresence(presence: Presence): void
  /** Told of every 401 and 403, for the audit log. */
  onRefused(refused: HostRefused): void
}

/** Everything below `/host`: the WebSocket and the plain posts, which share the event buffers. */
export function createHostEndpoint(deps: HostEndpointDeps) {
  const { clock = systemClock, clock: ticks = monotonicClock } = deps
  const timer = systemTimer
  const { maxEventBuffers: max, linkGraceMs: graceMs } = deps.limits
  const buffers = new EventBuffers(deps.sink, { max, graceMs, timer })
  const appOrigins = makeAppOrigins(deps.appOrigins)
  const link = new AppLink({ ...deps, buffers, clock, timer, ticks })
  return {
    handle: createHostRoutes({ ...deps, buffers, appOrigins }),
    upgrade: createLinkUpgrade({
      ...deps,
      appOrigins,
      openLinks: () => link.openLinks,
      accept: (...opened) => link.accept(...opened),
    }),
    close: () => link.close(),
    pictures: link.pictures,
    appOrigins,
  }
}

/** Bounds of one buffer; the server's own where nothing is said. */
export interface BufferForm {
  readonly maxlen?: number
  readonly maxMessageBytes?: number
}

/** Stores what the application reports; the host link only validates. */
export interface HostSink {
  /**
   * Replaces or clears the scene and returns its revision; `TypeError` for an invalid scene.
   * `setBy`: instance id of the application on the WebSocket.
   */
  setSceneText(json: string, setBy?: string): number
  readonly scene: SceneState
  readonly audit: Pick<AuditLog, 'record'>
  /** A new buffer, which clients can read from now on. */
  openSessionEventBuffer(sessionId: string, form: BufferForm): SessionEventBuffer
  /** The buffer is listed and read no more. */
  closeSessionEventBuffer(buffer: SessionEventBuffer): void
  readonly checkpoints: Pick<Checkpoints, 'add' | 'remove'>
  /** The clients of this server. */
  readonly clients: Pick<ClientsSource, 'rows' | 'watch'>
  /** Null when notes are switched off. */
  readonly notes: (NoteWriter & Pick<Notes, 'watch' | 'shown' | 'exported' | 'import'>) | null
  /** Null when artefacts are switched off. */
  readonly artefacts: Pick<ArtefactStore, 'put' | 'remove'> | null
}
