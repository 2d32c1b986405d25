/** One record or event as JSON text; those of one group may share a message. */
export interface QueueItem {
  readonly group: string
  readonly text: string
}

interface QueueBounds {
  readonly maxItems: number
  /** UTF-8 bytes of the texts. */
  readonly maxBytes: number
}

interface Held extends QueueItem {
  readonly bytes: number
}

/** What waits for the server, oldest first. Beyond its bounds the oldest goes, and is counted. */
export class BoundedQueue {
  readonly #bounds: QueueBounds
  #items: Held[] = []
  #bytes = 0
  #dropped = 0

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds
  }

  get length(): number {
    return this.#items.length
  }

  /** Since the start; nothing resets it. */
  get dropped(): number {
    return this.#dropped
  }

  push(item: QueueItem): void {
    const held = { ...item, bytes: Buffer.byteLength(item.text) }
    this.#items.push(held)
    this.#bytes += held.bytes
    this.#trim()
  }

  /**
   * Takes the oldest item and those of its group behind it, in order: at most `maxItems`, and
   * `maxBytes` unless the first alone is larger. Empty when nothing waits.
   */
  take(maxItems: number, maxBytes: number): QueueItem[] {
    const group = this.#items[0]?.group
    const taken: Held[] = []
    const left: Held[] = []
    let bytes = 0
    let full = false
    for (const item of this.#items) {
      // Of a group that is full nothing more: what comes later must not overtake.
      const fits = taken.length === 0 || bytes + item.bytes + 1 <= maxBytes
      if (item.group === group && !fits) full = true
      if (item.group !== group || full) {
        left.push(item)
        continue
      }
      taken.push(item)
      bytes += item.bytes + 1
      full = taken.length >= maxItems
    }
    this.#items = left
    this.#bytes -= taken.reduce((sum, item) => sum + item.bytes, 0)
    return taken
  }

  /** Puts back, in front, what was taken and not delivered. */
  giveBack(items: readonly QueueItem[]): void {
    const held = items.map(item => ({ ...item, bytes: Buffer.byteLength(item.text) }))
    this.#items = [...held, ...this.#items]
    this.#bytes += held.reduce((sum, item) => sum + item.bytes, 0)
    this.#trim()
  }

  /** Counts items that were taken and refused for good. */
  countDropped(items: number): void {
    this.#dropped += items
  }

  has(group: string): boolean {
    return this.#items.some(item => item.group === group)
  }

  #trim(): void {
    const { maxItems, maxBytes } = this.#bounds
    let extra = Math.max(0, this.#items.length - maxItems)
    for (let at = 0; at < extra; at++) this.#bytes -= this.#items[at]?.bytes ?? 0
    while (this.#bytes > maxBytes && extra < this.#items.length) {
      this.#bytes -= this.#items[extra]?.bytes ?? 0
      extra++
    }
    if (extra > 0) this.#items.splice(0, extra)
    this.#dropped += extra
  }
}
