import type { ArtefactStore } from '../artefacts/store.ts'
import type { AuditLog } from '../resources/audit-log.ts'
import type { SceneOwnership } from '../resources/scene-state.ts'
import type { SessionEventBuffer } from '../resources/session-event-buffer.ts'

/** Bounds of one buffer; the server's own where nothing is said. */
export interface BufferForm {
  readonly maxlen?: number | undefined
  readonly maxMessageBytes?: number | undefined
}

/** Stores what the application reports; the host link only validates. */
export interface HostSink {
  /**
   * Replaces or clears the scene and returns its revision; `TypeError` for what is no scene.
   * `setBy`: instance id of the application on the live link.
   */
  setSceneText(json: string, setBy?: string): number
  readonly scene: SceneOwnership
  readonly audit: Pick<AuditLog, 'record'>
  /** A new buffer, which clients can read from now on. */
  openSessionEventBuffer(sessionId: string, form: BufferForm): SessionEventBuffer
  /** The buffer is listed and read no more. */
  closeSessionEventBuffer(buffer: SessionEventBuffer): void
  /** Null when artefacts are switched off. */
  readonly artefacts: Pick<ArtefactStore, 'put' | 'remove'> | null
}
