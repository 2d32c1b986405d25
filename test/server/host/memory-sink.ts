import { createHash } from 'node:crypto'
import type { ArtefactOptions, PutResult } from '../../../src/server/artefacts/store.ts'
import { defaultLimits } from '../../../src/server/options.ts'
import { SceneState } from '../../../src/server/resources/scene-state.ts'
import type {
  ArtefactSink,
  AuditRecord,
  EventBuffer,
  HostSink,
  SessionEvent,
} from '../../../src/server/host/host-sink.ts'

/** Keeps what arrives, in the smallest way that still is one. */
export class MemorySink implements HostSink {
  scenes: (object | null)[] = []
  records: AuditRecord[] = []
  buffers = new Map<string, MemoryBuffer>()
  artefacts: MemoryArtefacts | null = new MemoryArtefacts()
  readonly audit = { record: (record: AuditRecord) => void this.records.push(record) }

  readonly #scene = new SceneState(defaultLimits)

  setSceneText(json: string): number {
    if (json.includes('explode')) throw new Error('secret path /etc/shadow')
    const revision = this.#scene.setText(json)
    this.scenes.push(JSON.parse(json))
    return revision
  }

  registerSessionEventBuffer(buffer: EventBuffer): void {
    if (!(buffer instanceof MemoryBuffer)) throw new TypeError('not one of ours')
    if (this.buffers.has(buffer.sessionId)) throw new TypeError('registered twice')
    this.buffers.set(buffer.sessionId, buffer)
  }

  createSessionEventBuffer(sessionId: string): EventBuffer {
    return new MemoryBuffer(sessionId)
  }
}

export class MemoryBuffer implements EventBuffer {
  readonly sessionId: string
  readonly maxlen = 3
  events: SessionEvent[] = []
  newestCursor: number | null = null
  droppedCount = 0

  constructor(sessionId: string) {
    this.sessionId = sessionId
  }

  append(event: SessionEvent): void {
    this.events.push(event)
    this.newestCursor = (this.newestCursor ?? 0) + 1
    if (this.events.length > this.maxlen) {
      this.events.shift()
      this.droppedCount++
    }
  }
}

export class MemoryArtefacts implements ArtefactSink {
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
      throw new Error('put failed', { cause: error })
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
      created_at: '2026-01-01T00:00:00.000Z',
      expires_at: null,
      metadata: null,
    }
    return { ref, existed }
  }
}
