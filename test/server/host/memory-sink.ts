import { createHash } from 'node:crypto'
import type { ArtefactOptions, PutResult } from '../../../src/server/artefacts/store.ts'
import { DocumentFolder } from '../../../src/server/checkpoints/document-folder.ts'
import { Checkpoints } from '../../../src/server/checkpoints/checkpoints.ts'
import type { BufferForm, HostSink } from '../../../src/server/host/host-endpoint.ts'
import { AuditLog, type AuditRecord } from '../../../src/server/resources/audit-log.ts'
import { SceneState } from '../../../src/server/resources/scene/state.ts'
import { SessionEventBuffer } from '../../../src/server/resources/session-event-buffer.ts'
import { defaultBounds } from '../../helpers/bounds.ts'

/** The real scene, log and buffers, which remember what arrived. */
export class MemorySink implements HostSink {
  scenes: (object | null)[] = []
  records: AuditRecord[] = []
  buffers = new Map<string, SessionEventBuffer>()
  readonly memory = new MemoryArtefacts()
  notes: HostSink['notes'] = null
  readonly checkpoints = new Checkpoints({
    document: () => new DocumentFolder('/nowhere'),
    scene: () => this.scene.fresh(),
  })
  artefacts: HostSink['artefacts'] = this.memory
  readonly clients = { rows: () => [], watch: () => () => {} }
  readonly scene = new SceneState(defaultBounds)
  readonly #log = new AuditLog()
  readonly audit = {
    record: (record: AuditRecord) => {
      this.records.push(record)
      return this.#log.record(record)
    },
  }

  setSceneText(json: string, setBy: string | null = null): number {
    if (json.includes('explode')) throw new Error('secret path /etc/shadow')
    const revision = this.scene.setText(json, setBy)
    this.scenes.push(JSON.parse(json))
    return revision
  }

  closeSessionEventBuffer(buffer: SessionEventBuffer): void {
    this.buffers.delete(buffer.sessionId)
  }

  openSessionEventBuffer(sessionId: string, form: BufferForm = {}): SessionEventBuffer {
    if (this.buffers.has(sessionId)) throw new TypeError('opened twice')
    const { maxlen = 3, maxMessageBytes = 4096 } = form
    const buffer = new SessionEventBuffer({ sessionId, maxlen, maxMessageBytes })
    this.buffers.set(sessionId, buffer)
    return buffer
  }
}

export class MemoryArtefacts {
  readonly stored = new Map<string, { bytes: Buffer; options: ArtefactOptions }>()
  /** Puts that were begun and did not end well. */
  broken = 0
  /** Called when a put has taken its first bytes. */
  onFirstBytes: () => void = () => {}
  onBroken: () => void = () => {}

  async put(source: AsyncIterable<Uint8Array>, options: ArtefactOptions = {}): Promise<PutResult> {
    const chunks: Uint8Array[] = []
    try {
      for await (const chunk of source) {
        if (chunks.push(chunk) === 1) this.onFirstBytes()
      }
    } catch (error) {
      this.broken++
      this.onBroken()
      throw error
    }
    const bytes = Buffer.concat(chunks)
    const hex = createHash('sha256').update(bytes).digest('hex')
    const existed = this.stored.has(hex)
    this.stored.set(hex, { bytes, options })
    const ref = {
      uri: `artefact://sha256/${hex}`,
      mime: options.mime ?? 'application/octet-stream',
      size_bytes: bytes.length,
      display_name: null,
      digest: `sha256:${hex}`,
      session_id: null,
      tool_call_id: null,
      job_id: null,
      correlation_id: null,
      instance_id: null,
      dcc_type: null,
      created_at: '2026-01-01T00:00:00.000Z',
      expires_at: null,
      metadata: null,
    }
    return { ref, existed }
  }

  async remove(hex: string): Promise<boolean> {
    return this.stored.delete(hex)
  }
}
