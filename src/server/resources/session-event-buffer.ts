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
  /** Bounds of one event; those left out keep their defaults. */
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
  readonly #maxBytes: number | undefined
  readonly #clock: Clock
  /** A ring: the event with id n is in slot (n - 1) % maxlen. */
  readonly #ring: (SessionEvent | undefined)[] = []
  /** Of the events in the ring; not counted without a bound. */
  #bytes = 0
  #newest = 0
  #newestAt: string | null = null
  #oldest = 1
  #dropped = 0
  #lostThrough = 0
  #drainedThrough = 0

  /** Throws `TypeError` when an option is out of its form. */
  constructor({
    sessionId,
    maxlen = 1000,
    maxMessageBytes = 4096,
    maxBytes,
    clock = systemClock,
  }: SessionEventBufferOptions) {
    this.uri = bufferUri(sessionId)
    this.sessionId = sessionId
    this.#maxlen = positive('maxlen', maxlen)
    this.#maxMessageBytes = positive('maxMessageBytes', maxMessageBytes)
    this.#maxBytes = maxBytes === undefined ? undefined : positive('maxBytes', maxBytes)
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
    return this.#newest - this.#oldest + 1
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
    if (this.retainedCount === this.#maxlen) this.#dropOldest()
    this.#newest = event.id
    this.#newestAt = event.timestamp
    this.#ring[this.#slot(event.id)] = event
    this.#bytes += this.#weight(event)
    while (this.#bytes > (this.#maxBytes ?? Infinity) && this.retainedCount > 1) this.#dropOldest()
    return event
  }

  /** The page that `events://session/<id>` answers; with `drain` it removes what it returns. */
  page(query: SessionEventQuery = {}): SessionEventPage {
    const { cursor = 0, drain = false } = query
    const limit = Math.max(query.limit ?? defaultEventLimit, 1)
    const gap = this.#lostThrough > Math.max(cursor, this.#drainedThrough)
    const events = this.#slice(cursor, limit)
    const last = events.at(-1)?.id
    if (drain && last !== undefined) this.#drain(last)
    return {
      cursor,
      next_cursor: last ?? cursor,
      oldest_cursor: this.retainedCount === 0 ? null : this.#oldest,
      newest_cursor: this.#newest,
      retained_count: this.retainedCount,
      dropped_count: this.#dropped,
      gap,
      events,
    }
  }

  #slice(cursor: number, limit: number): SessionEvent[] {
    const events: SessionEvent[] = []
    const first = Math.max(cursor + 1, this.#oldest)
    const end = Math.min(first + limit - 1, this.#newest)
    for (let id = first; id <= end; id++) {
      const event = this.#ring[this.#slot(id)]
      if (event !== undefined) events.push(event)
    }
    return events
  }

  #dropOldest(): void {
    this.#take(this.#oldest)
    this.#lostThrough = this.#oldest++
    this.#dropped++
  }

  #take(id: number): void {
    this.#bytes -= this.#weight(this.#ring[this.#slot(id)])
    this.#ring[this.#slot(id)] = undefined
  }

  #weight(event: SessionEvent | undefined): number {
    if (this.#maxBytes === undefined || event === undefined) return 0
    return Buffer.byteLength(JSON.stringify(event))
  }

  #drain(through: number): void {
    for (let id = this.#oldest; id <= through; id++) this.#take(id)
    this.#oldest = through + 1
    this.#drainedThrough = through
  }

  #slot(id: number): number {
    return (id - 1) % this.#maxlen
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
