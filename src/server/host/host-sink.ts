import type { ArtefactStore } from '../artefacts/store.ts'
import type { AuditLog } from '../resources/audit-log.ts'
import type { SessionEventBuffer } from '../resources/session-event-buffer.ts'

/** Whoever keeps what the application reports: the host link only validates and hands over. */
export interface HostSink {
  /** Replaces or clears the scene and returns its revision; `TypeError` for what is no scene. */
  setSceneText(json: string): number
  readonly audit: Pick<AuditLog, 'record'>
  /** A new buffer with the server's own bounds, which clients can read from now on. */
  openSessionEventBuffer(sessionId: string): SessionEventBuffer
  /** Null when artefacts are switched off. */
  readonly artefacts: Pick<ArtefactStore, 'put'> | null
}
