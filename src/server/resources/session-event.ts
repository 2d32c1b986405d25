import { toRfc3339 } from '../../lib/util/time.ts'
import { isJsonObject, maxJsonDepth } from '../../lib/util/json.ts'
import { boundedJson, cutUtf8 } from './bounded-json.ts'

/** Bytes of the `metadata` of one event. */
export const maxEventMetadataBytes = 4 * 1024

/** Bytes of each text of an event beside its message: source, stream, ids. */
const maxEventTextBytes = 256

export type SessionEventLevel = 'trace' | 'debug' | 'info' | 'warning' | 'error'

/** What a host says about one event. */
export interface SessionEventInput {
  /** The sender, e.g. `maya` or `render-farm`. */
  source: string
  /** Which of its voices, e.g. `stdout`. */
  stream: string
  /** Default `info`; `warn` is taken for `warning`. */
  level?: SessionEventLevel | 'warn'
  message: string
  toolCallId?: string | null
  jobId?: string | null
  correlationId?: string | null
  /** Any JSON value; above 4 KiB only its size is kept. */
  metadata?: unknown
}

/** One event as it goes on the wire. */
export interface SessionEvent {
  /** From 1, without holes, per buffer. */
  readonly id: number
  /** RFC 3339, milliseconds, UTC. */
  readonly timestamp: string
  readonly session_id: string
  readonly tool_call_id: string | null
  readonly job_id: string | null
  readonly correlation_id: string | null
  readonly source: string
  readonly stream: string
  readonly level: SessionEventLevel
  readonly message: string
  /** Bytes of UTF-8; present when the message was cut. */
  readonly truncation?: {
    readonly original_size: number
    readonly truncated_size: number
    readonly max_size: number
  }
  readonly metadata?: unknown
}

interface SessionEventPlace {
  id: number
  nowMs: number
  sessionId: string
  maxMessageBytes: number
}

/** Throws `TypeError` for fields of the wrong type; only `metadata` may be anything. */
export function sessionEvent(input: SessionEventInput, place: SessionEventPlace): SessionEvent {
  if (!isJsonObject(input)) throw new TypeError('event must be an object')
  const { source, stream, level = 'info', message, metadata } = input
  if (typeof message !== 'string') throw new TypeError('event message must be a string')
  const { maxMessageBytes } = place
  const cut = cutUtf8(message, maxMessageBytes)
  const metadataBounds = { maxBytes: maxEventMetadataBytes, maxDepth: maxJsonDepth }
  const text = (name: string, value: unknown) => requiredText(name, value)
  const orNull = (name: string, value: unknown) =>
    value === undefined || value === null ? null : text(name, value)
  return Object.freeze({
    id: place.id,
    timestamp: toRfc3339(place.nowMs),
    session_id: place.sessionId,
    tool_call_id: orNull('toolCallId', input.toolCallId),
    job_id: orNull('jobId', input.jobId),
    correlation_id: orNull('correlationId', input.correlationId),
    source: text('source', source),
    stream: text('stream', stream),
    level: parseLevel(level),
    message: cut.text,
    ...(cut.bytes < cut.originalBytes && {
      truncation: Object.freeze({
        original_size: cut.originalBytes,
        truncated_size: cut.bytes,
        max_size: maxMessageBytes,
      }),
    }),
    ...(metadata !== undefined && { metadata: boundedJson(metadata, metadataBounds) }),
  })
}

function parseLevel(level: unknown): SessionEventLevel {
  switch (level) {
    case 'trace':
    case 'debug':
    case 'info':
    case 'warning':
    case 'error':
      return level
    case 'warn':
      return 'warning'
    default:
      throw new TypeError('event level must be trace, debug, info, warning or error')
  }
}

function requiredText(name: string, value: unknown): string {
  if (typeof value !== 'string') throw new TypeError(`event ${name} must be a string`)
  return cutUtf8(value, maxEventTextBytes).text
}
