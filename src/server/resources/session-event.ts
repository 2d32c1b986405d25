import { z } from 'zod'
import { firstIssue } from '../../lib/util/first-issue.ts'
import { maxJsonDepth } from '../../lib/util/json.ts'
import { toRfc3339 } from '../../lib/util/time.ts'
import { boundedJson, cutUtf8 } from './bounded-json.ts'

/** Bytes of the `metadata` of one event. */
export const maxEventMetadataBytes = 4 * 1024

/** Bytes of each text of an event beside its message: source, stream, ids. */
const maxEventTextBytes = 256

export type SessionEventLevel = 'trace' | 'debug' | 'info' | 'warning' | 'error'

const text = z.string().transform(value => cutUtf8(value, maxEventTextBytes).text)
const textOrNull = text.nullish().transform(value => value ?? null)
const form = z.object({
  source: text,
  stream: text,
  level: z.enum(['trace', 'debug', 'info', 'warning', 'error', 'warn']).default('info'),
  message: z.string(),
  toolCallId: textOrNull,
  jobId: textOrNull,
  correlationId: textOrNull,
  metadata: z.unknown().optional(),
})

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
export function sessionEvent(
  input: SessionEventInput,
  { id, nowMs, sessionId, maxMessageBytes }: SessionEventPlace,
): SessionEvent {
  const { success, data, error } = form.safeParse(input)
  if (!success) throw new TypeError(`invalid event: ${firstIssue(error)}`)
  const { metadata, level, source, stream, message } = data
  const cut = cutUtf8(message, maxMessageBytes)
  const metadataBounds = { maxBytes: maxEventMetadataBytes, maxDepth: maxJsonDepth }
  return Object.freeze({
    id,
    timestamp: toRfc3339(nowMs),
    session_id: sessionId,
    tool_call_id: data.toolCallId,
    job_id: data.jobId,
    correlation_id: data.correlationId,
    source,
    stream,
    level: level === 'warn' ? 'warning' : level,
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
