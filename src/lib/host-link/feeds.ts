import type { Link } from './link.ts'
import { type BatchParts, BatchSender } from './batch-sender.ts'
import type { LinkAuditRecord, LinkEvent } from './wire.ts'
import { isSessionId, sessionIdForm } from '../util/text.ts'
import { HostLinkError } from './errors.ts'

/** Sends one kind of state to the server, and repeats it after every welcome. */
export interface Feed {
  /** Called once for each welcomed link. Must not throw. */
  attach(link: Link): void
}

/**
 * Runs `turn` whenever woken, never concurrently; a wake during a run causes another one. `turn`
 * sends pending data and must not reject.
 */
export class Pump {
  readonly #turn: (link: Link) => Promise<void>
  #link: Link | null = null
  #running: Link | null = null
  #again = false

  constructor(turn: (link: Link) => Promise<void>) {
    this.#turn = turn
  }

  /** Switches to this link. */
  attach(link: Link): void {
    this.#link = link
    this.wake()
  }

  wake(): void {
    const link = this.#link
    if (link === null || !link.open) return
    this.#again = true
    if (this.#running !== link) void this.#run(link)
  }

  async #run(link: Link): Promise<void> {
    this.#running = link
    // Batches everything that the caller does synchronously.
    await Promise.resolve()
    while (this.#again && link.open && this.#link === link) {
      this.#again = false
      await link.drained()
      if (link.open) await this.#turn(link)
    }
    if (this.#running === link) this.#running = null
  }
}

/** Sends audit records. */
export class AuditFeed implements Feed {
  readonly sender: BatchSender
  readonly #pump = new Pump(link => this.#turn(link))

  constructor(parts: BatchParts) {
    this.sender = new BatchSender(parts)
  }

  /** Throws `TypeError` and queues nothing when a record is not a JSON object. */
  add(records: LinkAuditRecord[]): void {
    const texts = records.map(record => this.sender.prepare(record, 'an audit record'))
    for (const text of texts) this.sender.queue.push({ group: '', text })
    this.#pump.wake()
  }

  attach(link: Link): void {
    this.#pump.attach(link)
  }

  async #turn(link: Link): Promise<void> {
    await this.sender.sendBatch(link, 'audit.record', (_group, records) => ({ records }))
    if (this.sender.queue.length > 0) this.#pump.wake()
  }
}

/** Options for a new event buffer; ignored when it exists. */
export interface EventBufferOptions {
  /** Capacity in events: 1 to 10000. Default 1000. */
  readonly maxlen?: number
  /** Longer messages are truncated to this many bytes: 1 to 65536. Default 4096. */
  readonly maxMessageBytes?: number
}

/** Sends session events and opens and closes their buffers. */
export class EventFeed implements Feed {
  readonly sender: BatchSender
  readonly #parts: BatchParts
  readonly #pump = new Pump(link => this.#turn(link))
  readonly #open = new Map<string, EventBufferOptions>()
  /** Buffers not yet opened on this link. */
  readonly #toOpen = new Map<string, EventBufferOptions>()
  /** Buffers to close after their queued events; null when created by `log`. */
  readonly #toClose = new Map<string, EventBufferOptions | null>()

  constructor(parts: BatchParts) {
    this.#parts = parts
    this.sender = new BatchSender(parts)
  }

  add(sessionId: string, event: LinkEvent): void {
    checkSessionId(sessionId)
    const text = this.sender.prepare(event, 'a session event')
    this.sender.queue.push({ group: sessionId, text })
    this.#pump.wake()
  }

  open(sessionId: string, options: EventBufferOptions): void {
    checkSessionId(sessionId)
    checkRange('maxlen', options.maxlen, 10_000)
    checkRange('maxMessageBytes', options.maxMessageBytes, 65_536)
    const { maxEventBuffers } = this.#parts.limits
    if (!this.#open.has(sessionId) && this.#open.size >= maxEventBuffers) {
      const hint = 'close one with closeEvents'
      throw new HostLinkError('limit', `${maxEventBuffers} event buffers are open: ${hint}`, true)
    }
    this.#open.set(sessionId, { ...options })
    this.#toOpen.set(sessionId, { ...options })
    this.#toClose.delete(sessionId)
    this.#pump.wake()
  }

  close(sessionId: string): void {
    checkSessionId(sessionId)
    const options = this.#open.get(sessionId) ?? null
    const queued = this.sender.queue.has(sessionId)
    if (options === null && !queued) return
    this.#open.delete(sessionId)
    // The server does not know the buffer.
    if (!queued && this.#toOpen.delete(sessionId)) return
    this.#toClose.set(sessionId, options)
    this.#pump.wake()
  }

  attach(link: Link): void {
    for (const [sessionId, options] of this.#toClose) {
      if (!this.sender.queue.has(sessionId)) this.#toClose.delete(sessionId)
      else if (options !== null) this.#toOpen.set(sessionId, options)
    }
    for (const [sessionId, options] of this.#open) this.#toOpen.set(sessionId, options)
    this.#pump.attach(link)
  }

  get waiting(): number {
    return this.sender.waiting + this.#toOpen.size + this.#toClose.size
  }

  async #turn(link: Link): Promise<void> {
    for (const [sessionId, options] of this.#toOpen) {
      this.#toOpen.delete(sessionId)
      const reply = await link.ask('events.open', openMembers(sessionId, options))
      if (!reply.ok && link.open) this.#parts.refused(reply.failure, 0)
    }
    await this.sender.sendBatch(link, 'events.append', (sessionId, events) => ({
      session_id: JSON.stringify(sessionId),
      events,
    }))
    // A buffer is closed after its last queued event.
    for (const sessionId of this.#toClose.keys()) {
      if (!link.open || this.sender.queue.has(sessionId)) continue
      this.#toClose.delete(sessionId)
      const reply = await link.ask('events.close', { session_id: JSON.stringify(sessionId) })
      // After a restart of the server the buffer no longer exists.
      if (!reply.ok && link.open && reply.failure.code !== 'not_found') {
        this.#parts.refused(reply.failure, 0)
      }
    }
    if (this.waiting > 0) this.#pump.wake()
  }
}

function openMembers(sessionId: string, { maxlen, maxMessageBytes }: EventBufferOptions) {
  return {
    session_id: JSON.stringify(sessionId),
    maxlen: maxlen === undefined ? undefined : String(maxlen),
    max_message_bytes: maxMessageBytes === undefined ? undefined : String(maxMessageBytes),
  }
}

function checkSessionId(sessionId: string): void {
  if (!isSessionId(sessionId)) throw new TypeError(`a session id must be ${sessionIdForm}`)
}

function checkRange(name: string, value: number | undefined, most: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 1 && value <= most)) return
  throw new TypeError(`${name} must be a whole number from 1 to ${most}`)
}
