import { pause, type Timer } from '../util/time.ts'
import { BoundedQueue, type QueueItem } from './bounded-queue.ts'
import type { ClientLimits } from './host-client-options.ts'
import { jsonObjectText } from './message-text.ts'
import type { AskFailure, Link } from './link.ts'

export interface BatchParts {
  readonly limits: ClientLimits
  readonly timer: Timer
  /** Called when the server refused items permanently. */
  readonly refused: (failure: AskFailure, items: number) => void
}

/** Bytes reserved for the rest of the message. */
const envelopeBytes = 512

/**
 * Sends items from a bounded queue, one batch at a time. Repeats the batch after a lost link: items
 * may arrive twice, and every dropped item is counted.
 */
export class BatchSender {
  readonly queue: BoundedQueue
  readonly #parts: BatchParts
  #attempts = 0
  /** The next items to send one by one: the server refuses one of them. */
  #single = 0
  #inFlight = 0

  constructor(parts: BatchParts) {
    this.#parts = parts
    const { maxQueued, maxQueuedBytes } = parts.limits
    this.queue = new BoundedQueue({ maxItems: maxQueued, maxBytes: maxQueuedBytes })
  }

  /** Serialises an item. Throws `TypeError` unless it is a JSON object within the size limit. */
  prepare(item: object, what: string): string {
    const text = jsonObjectText(item, what)
    const { maxItemBytes } = this.#parts.limits
    if (Buffer.byteLength(text) > maxItemBytes) {
      throw new TypeError(`${what} has more than ${maxItemBytes} bytes of JSON`)
    }
    return text
  }

  /** Queued items and those being sent. */
  get waiting(): number {
    return this.queue.length + this.#inFlight
  }

  /** Sends one batch. `members` builds the message from its group and the JSON array of items. */
  async sendBatch(
    link: Link,
    type: string,
    members: (group: string, items: string) => Record<string, string>,
  ): Promise<void> {
    const { max_batch, max_message_bytes } = link.limits
    const most = this.#single > 0 ? 1 : max_batch
    const batch = this.queue.take(most, max_message_bytes - envelopeBytes)
    const [first] = batch
    if (first === undefined) return
    this.#inFlight = batch.length
    const items = `[${batch.map(({ text }) => text).join(',')}]`
    const reply = await link.ask(type, members(first.group, items))
    this.#inFlight = 0
    if (reply.ok) {
      this.#attempts = 0
      this.#single = Math.max(0, this.#single - batch.length)
    } else {
      await this.#failed(link, batch, reply.failure)
    }
  }

  async #failed(link: Link, batch: QueueItem[], failure: AskFailure): Promise<void> {
    if (failure.code === 'disconnected') return this.queue.giveBack(batch)
    if (failure.code === 'invalid' && batch.length > 1) {
      this.#single = batch.length
      return this.queue.giveBack(batch)
    }
    const again = failure.retryable || failure.code === 'limit'
    if (again && ++this.#attempts < this.#parts.limits.maxAttempts) {
      this.queue.giveBack(batch)
      return pause(this.#parts.timer, this.#parts.limits.resendMs, link.signal)
    }
    this.#attempts = 0
    this.#single = Math.max(0, this.#single - batch.length)
    this.queue.countDropped(batch.length)
    this.#parts.refused(failure, batch.length)
  }
}
