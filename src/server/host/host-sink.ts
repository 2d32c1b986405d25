import type { PutResult, ArtefactOptions } from '../artefacts/store.ts'

/**
 * What the host link needs of the rest of the server. The link only validates and hands over:
 * whoever keeps the state implements these.
 */
export interface HostSink<Buffer extends EventBuffer = EventBuffer> {
  /** Replaces or clears the scene and returns its revision; `TypeError` for what is no scene. */
  setSceneText(json: string): number
  readonly audit: AuditSink
  registerSessionEventBuffer(buffer: Buffer): void
  /** A new buffer with the server's own bounds. */
  createSessionEventBuffer(sessionId: string): Buffer
  /** Null when artefacts are switched off. */
  readonly artefacts: ArtefactSink | null
}

export interface AuditSink {
  record(record: AuditRecord): unknown
}

export interface ArtefactSink {
  put(source: AsyncIterable<Uint8Array>, options?: ArtefactOptions): Promise<PutResult>
}

export interface EventBuffer {
  readonly sessionId: string
  append(event: SessionEvent): unknown
  /** Id of the last event appended; 0, null or undefined before the first. */
  readonly newestCursor: number | null | undefined
  /** Events lost to retention so far. */
  readonly droppedCount: number
}

export type AuditOutcome =
  'success' | 'timeout' | { denied: { reason: string } } | { error: { message: string } }

export interface AuditRecord {
  action: string
  outcome?: AuditOutcome
  actor?: string
  params?: unknown
  durationMs?: number
  sessionId?: string
  /** RFC 3339 in UTC with milliseconds. */
  timestamp?: string
}

export type EventLevel = 'trace' | 'debug' | 'info' | 'warning' | 'error'

export interface SessionEvent {
  source: string
  stream: string
  level: EventLevel
  message: string
  toolCallId?: string
  jobId?: string
  correlationId?: string
  metadata?: unknown
}
