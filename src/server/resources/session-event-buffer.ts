import { z } from 'zod'
import { firstIssue } from '../../lib/util/first-issue.ts'
import { type Clock, systemClock, toRfc3339 } from '../../lib/util/time.ts'
import { boundedJson, cutUtf8 } from './bounded-json.ts'
import { maxUriChars } from './resource-uri.ts'

/** Events of one page when the reader names no `limit`. */
export const defaultEventLimit = 100

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

export interface SessionEventBufferOptions {
  /** Part of the URI, percent-encoded there. */
  sessionId: string
  /** Events retained; the oldest go first. Default 1000. */
  maxlen?: number
  /** Bytes of UTF-8 of one message; longer ones are cut at a character. Default 4096. */
  maxMessageBytes?: number
  /** Bytes of JSON retained; the oldest events go first, the newest stays. Default: no bound. */
  maxBytes?: number
  clock?: Clock
}

interface SessionEventQuery {
  /** Events with a greater id. Default 0. */
  cursor?: number
  /** Default 100. */
  limit?: number
  /** Remove the returned events and all older ones. */
  drain?: boolean
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
  /** Events after `cursor` were lost to retention before anyone drained them. */
  readonly gap: boolean
  readonly events: readonly SessionEvent[]
}

/** The diagnostics of one session, in memory, read by cursor as `events://session/<id>`. */
export class SessionEventBuffer {
  readonly sessionId: string
  /** `events://session/<percent-encoded id>` */
  readonly uri: string
  readonly #maxlen: number
  readonly #maxMessageBytes: number
  readonly #maxBytes: number
  readonly #clock: Clock
  /** Oldest first, their ids without holes; bytes of JSON, where these are bounded. */
  readonly #retained: { readonly event: SessionEvent; readonly bytes: number }[] = []
  #bytes = 0
  #newest = 0
  #dropped = 0
  #lostThrough = 0
  #drainedThrough = 0

  /** Throws `TypeError` for an invalid option. */
  constructor(options: SessionEventBufferOptions) {
    const { sessionId, maxlen = 1000, maxMessageBytes = 4096, clock = systemClock } = options
    this.uri = bufferUri(sessionId)
    this.sessionId = sessionId
    this.#maxlen = positive('maxlen', maxlen)
    this.#maxMessageBytes = positive('maxMessageBytes', maxMessageBytes)
    const { maxBytes } = options
    this.#maxBytes = maxBytes === undefined ? Infinity : positive('maxBytes', maxBytes)
    this.#clock = clock
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
    const bytes = this.#maxBytes === Infinity ? 0 : Buffer.byteLength(JSON.stringify(event))
    this.#newest = event.id
    this.#retained.push({ event, bytes })
    this.#bytes += bytes
    while (this.#isFull()) {
      this.#lostThrough = this.#remove(1)
      this.#dropped++
    }
    return event
  }

  /** The page that `events://session/<id>` answers; with `drain` it removes what it returns. */
  page({
    cursor = 0,
    limit = defaultEventLimit,
    drain = false,
  }: SessionEventQuery = {}): SessionEventPage {
    const gap = this.#lostThrough > Math.max(cursor, this.#drainedThrough)
    const oldest = this.#newest - this.#retained.length + 1
    const from = Math.max(cursor + 1 - oldest, 0)
    const events = this.#retained.slice(from, from + Math.max(limit, 1)).map(({ event }) => event)
    const last = events.at(-1)?.id
    if (drain && last !== undefined) this.#drainedThrough = this.#remove(last - oldest + 1)
    return {
      cursor,
      next_cursor: last ?? cursor,
      oldest_cursor: this.#retained[0]?.event.id ?? null,
      newest_cursor: this.#newest,
      retained_count: this.#retained.length,
      dropped_count: this.#dropped,
      gap,
      events,
    }
  }

  #eventOf(input: SessionEventInput): SessionEvent {
    const { success, data, error } = form.safeParse(input)
    if (!success) throw new TypeError(`invalid event: ${firstIssue(error)}`)
    const cut = cutUtf8(data.message, this.#maxMessageBytes)
    return Object.freeze({
      id: this.#newest + 1,
      timestamp: toRfc3339(this.#clock.now()),
      session_id: this.sessionId,
      tool_call_id: data.toolCallId,
      job_id: data.jobId,
      correlation_id: data.correlationId,
      source: data.source,
      stream: data.stream,
      level: data.level === 'warn' ? 'warning' : data.level,
      message: cut.text,
      ...(cut.bytes < cut.originalBytes && {
        truncation: Object.freeze({
          original_size: cut.originalBytes,
          truncated_size: cut.bytes,
          max_size: this.#maxMessageBytes,
        }),
      }),
      ...(data.metadata !== undefined && {
        metadata: boundedJson(data.metadata, maxEventMetadataBytes),
      }),
    })
  }

  #isFull(): boolean {
    const { length } = this.#retained
    return length > this.#maxlen || (this.#bytes > this.#maxBytes && length > 1)
  }

  /** Removes the oldest events and returns the id of the last of them. */
  #remove(count: number): number {
    for (const { bytes } of this.#retained.splice(0, count)) this.#bytes -= bytes
    return this.#newest - this.#retained.length
  }
}

function bufferUri(sessionId: unknown): string {
  if (typeof sessionId !== 'string' || sessionId === '' || !sessionId.isWellFormed()) {
    throw new TypeError('sessionId must be a non-empty string')
  }
  const uri = `events://session/${encodeURIComponent(sessionId)}`
  // Half of the longest URI leaves space for the query, in any order.
  if (uri.length > maxUriChars / 2) {
    throw new TypeError(`sessionId is too long: its URI would have ${uri.length} characters`)
  }
  return uri
}

function positive(name: string, value: number): number {
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new TypeError(`${name} must be a positive integer`)
  }
  return value
}
