import type { ArtefactStore } from '../artefacts/store.ts'
import type { Checkpoints } from '../checkpoints/checkpoints.ts'
import type { Notes } from '../notes/notes.ts'
import type { AuditLog } from '../resources/audit-log.ts'
import type { ClientsSource } from '../resources/clients.ts'
import type { ResourceRegistry } from '../resources/registry.ts'
import { SessionEventBuffer } from '../resources/session-event-buffer.ts'
import type { HostSink } from './host-endpoint.ts'

/** What the application reports, handed to those who keep it. */
export function createHostSink(
  registry: ResourceRegistry,
  {
    audit,
    store,
    notes,
    checkpoints,
    clients,
  }: {
    audit: AuditLog
    store: ArtefactStore | undefined
    notes: Notes | undefined
    checkpoints: Checkpoints
    clients: ClientsSource
  },
): HostSink {
  return {
    notes: notes ?? null,
    checkpoints,
    clients,
    setSceneText: (json, setBy) => registry.scene.setText(json, setBy),
    scene: registry.scene,
    audit,
    artefacts: store ?? null,
    openSessionEventBuffer: (sessionId, { maxlen = 1000, maxMessageBytes = 4096 }) => {
      const buffer = new SessionEventBuffer({ sessionId, maxlen, maxMessageBytes })
      registry.registerSessionEventBuffer(buffer)
      return buffer
    },
    closeSessionEventBuffer: buffer => registry.removeSessionEventBuffer(buffer),
  }
}
