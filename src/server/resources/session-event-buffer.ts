import { maxUriChars } from './resource-uri.ts'
import { type Clock, systemClock } from '../../lib/util/time.ts'
import { type SessionEvent, type SessionEventInput, sessionEvent } from './session-event.ts'

/** Events of one page when the reader names no `limit`. */
export const defaultEventLimit = 100

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
  #newestAt: string | null = null
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

  /** RFC 3339: when the newest event was appended; null before the first. */
  get lastAppendedAt(): string | null {
    return this.#newestAt
  }

  /** Events lost to retention; drained ones are not lost. */
  get droppedCount(): number {
    return this.#dropped
  }

  /** Events held now. */
  get retainedCount(): number {
    return this.#retained.length
  }

  /**
   * Adds an event and returns it as stored. Throws `TypeError` for a field of the wrong type or
   * an unknown level; nothing is added then.
   */
  append(input: SessionEventInput): SessionEvent {
    const event = sessionEvent(input, {
      id: this.#newest + 1,
      nowMs: this.#clock.now(),
      sessionId: this.sessionId,
      maxMessageBytes: this.#maxMessageBytes,
    })
    const bytes = this.#maxBytes === Infinity ? 0 : Buffer.byteLength(JSON.stringify(event))
    this.#newest = event.id
    this.#newestAt = event.timestamp
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
