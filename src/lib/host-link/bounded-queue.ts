/** A record or event as JSON text. Items of one group may share a message. */
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

/** A FIFO queue that drops and counts the oldest items beyond its bounds. */
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

  /** Dropped items since the start. */
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
   * Removes the oldest item and later ones of its group, in order: at most `maxItems`, and
   * `maxBytes` unless the first alone is larger.
   */
  take(maxItems: number, maxBytes: number): QueueItem[] {
    const group = this.#items[0]?.group
    const taken: Held[] = []
    const left: Held[] = []
    let bytes = 0
    let full = false
    for (const item of this.#items) {
      // After one item of the group does not fit, later ones must not overtake it.
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

  /** Puts undelivered items back at the front. */
  giveBack(items: QueueItem[]): void {
    const held = items.map(item => ({ ...item, bytes: Buffer.byteLength(item.text) }))
    this.#items = [...held, ...this.#items]
    this.#bytes += held.reduce((sum, item) => sum + item.bytes, 0)
    this.#trim()
  }

  /** Counts items that the server refused permanently. */
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
