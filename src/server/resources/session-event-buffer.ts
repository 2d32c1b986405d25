import { z } from 'zod'
import { eventBounds, eventLevel } from '../../lib/host-link/messages.ts'
import { firstIssue } from '../../lib/util/first-issue.ts'
import { toRfc3339 } from '../../lib/util/time.ts'
import { boundedJson } from './bounded-json.ts'

/** Events of one page when the reader names no `limit`. */
export const defaultEventLimit = 100

/** Bytes of the `metadata` of one event. */
const maxEventMetadataBytes = 4 * 1024

const optionsForm = z.strictObject({
  sessionId: z.string().min(1),
  maxlen: eventBounds.maxlen.default(1000),
  maxMessageBytes: eventBounds.maxMessageBytes.default(4096),
})

const textOrNull = z.string().nullable().default(null)
const form = z.object({
  /** The sender, e.g. `maya` or `render-farm`. */
  source: z.string(),
  /** Which of its outputs, e.g. `stdout`. */
  stream: z.string(),
  /** Default `info`; `warn` is taken for `warning`. */
  level: eventLevel.default('info'),
  message: z.string(),
  toolCallId: textOrNull,
  jobId: textOrNull,
  correlationId: textOrNull,
  /** Any JSON value; above 4 KiB only its size is kept. */
  metadata: z.unknown().optional(),
})

export type SessionEventLevel = Exclude<z.output<typeof eventLevel>, 'warn'>

/** What a host says about one event. */
export type SessionEventInput = z.input<typeof form>

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
  readonly truncation?: { readonly original_size: number }
  readonly metadata?: unknown
}

export interface SessionEventBufferOptions {
  /** Part of the URI, percent-encoded there. */
  sessionId: string
  /** Events retained, 1 to 10,000; the oldest go first. Default 1000. */
  maxlen?: number
  /** Bytes of UTF-8 of one message, 1 to 65,536; longer ones are cut at a character. Default 4096. */
  maxMessageBytes?: number
}

/** One page as it goes on the wire. */
export interface SessionEventPage {
  readonly cursor: number
  /** Where the next page starts; the given cursor when the page is empty. */
  readonly next_cursor: number
  /** Id of the oldest retained event, null when none is. */
  readonly oldest_cursor: number | null
  /** Id of the newest event ever appended, 0 before the first. */
  readonly newest_cursor: number
  readonly retained_count: number
  /** Events lost to retention since the buffer was made (drained ones are not lost). */
  readonly dropped_count: number
  readonly events: readonly SessionEvent[]
}

/** The diagnostics of one session, in memory, read by cursor as `events://session/<id>`. */
export class SessionEventBuffer {
  readonly sessionId: string
  /** `events://session/<percent-encoded id>` */
  readonly uri: string
  readonly #maxlen: number
  readonly #maxMessageBytes: number
  /** Oldest first, their ids without holes. */
  readonly #retained: SessionEvent[] = []
  #newest = 0
  #dropped = 0

  /** Throws `TypeError` for an invalid option, which it names. */
  constructor(options: SessionEventBufferOptions) {
    const { success, data, error } = optionsForm.safeParse(options)
    if (!success) throw new TypeError(`invalid options of events: ${firstIssue(error)}`)
    const { sessionId, maxlen, maxMessageBytes } = data
    this.uri = `events://session/${encodeURIComponent(sessionId)}`
    this.sessionId = sessionId
    this.#maxlen = maxlen
    this.#maxMessageBytes = maxMessageBytes
  }

  /** Id of the newest event ever appended, 0 before the first. */
  get newestCursor(): number {
    return this.#newest
  }

  /** Events lost to retention; drained ones are not lost. */
  get droppedCount(): number {
    return this.#dropped
  }

  /**
   * Adds an event and returns it as stored. Throws `TypeError` for a field of the wrong type or
   * an unknown level; nothing is added then.
   */
  append(input: SessionEventInput): SessionEvent {
    const event = this.#eventOf(input)
    this.#newest = event.id
    if (this.#retained.push(event) > this.#maxlen) {
      this.#retained.shift()
      this.#dropped++
    }
    return event
  }

  /**
   * The events with an id greater than `cursor`, as `events://session/<id>` answers them; with `drain`
   * it removes them and all older ones.
   */
  page({
    cursor = 0,
    limit = defaultEventLimit,
    drain = false,
  }: { cursor?: number; limit?: number; drain?: boolean } = {}): SessionEventPage {
    const oldest = this.#newest - this.#retained.length + 1
    const from = Math.max(cursor + 1 - oldest, 0)
    const events = this.#retained.slice(from, from + Math.max(limit, 1))
    const last = events.at(-1)?.id
    if (drain && last !== undefined) this.#retained.splice(0, last - oldest + 1)
    return {
      cursor,
      next_cursor: last ?? cursor,
      oldest_cursor: this.#retained[0]?.id ?? null,
      newest_cursor: this.#newest,
      retained_count: this.#retained.length,
      dropped_count: this.#dropped,
      events,
    }
  }

  #eventOf(input: SessionEventInput): SessionEvent {
    const { success, data, error } = form.safeParse(input)
    if (!success) throw new TypeError(`invalid event: ${firstIssue(error)}`)
    const message = cutUtf8(data.message, this.#maxMessageBytes)
    return Object.freeze({
      id: this.#newest + 1,
      timestamp: toRfc3339(Date.now()),
      session_id: this.sessionId,
      tool_call_id: data.toolCallId,
      job_id: data.jobId,
      correlation_id: data.correlationId,
      source: data.source,
      stream: data.stream,
      level: data.level === 'warn' ? 'warning' : data.level,
      message,
      ...(message !== data.message && {
        truncation: Object.freeze({ original_size: Buffer.byteLength(data.message) }),
      }),
      ...(data.metadata !== undefined && {
        metadata: boundedJson(data.metadata, maxEventMetadataBytes),
      }),
    })
  }
}

/** The longest start of the text that is whole characters and at most so many bytes of UTF-8. */
function cutUtf8(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text
  const buffer = Buffer.allocUnsafe(maxBytes)
  const { written } = new TextEncoder().encodeInto(text, buffer)
  // A new string: a slice would keep the whole original in memory.
  return buffer.toString('utf8', 0, written)
}
