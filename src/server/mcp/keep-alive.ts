/** A stream that wants a sign of life now and then. */
interface KeptAlive {
  keepAlive(stallMs: number): void
}

const slots = 15

/**
 * Gives each stream its keep-alive once per interval. The streams are spread over slots, so that
 * thousands of them never write in the same moment.
 */
export class KeepAlive {
  readonly #slots: Set<KeptAlive>[] = Array.from({ length: slots }, () => new Set())
  readonly #stallMs: number
  readonly #timer: NodeJS.Timeout
  #next = 0

  constructor(limits: { streamKeepAliveMs: number; streamStallMs: number }) {
    this.#stallMs = limits.streamStallMs
    const tickMs = Math.max(1, Math.floor(limits.streamKeepAliveMs / slots))
    this.#timer = setInterval(() => this.#tick(), tickMs)
    this.#timer.unref()
  }

  get size(): number {
    return this.#slots.reduce((sum, slot) => sum + slot.size, 0)
  }

  add(stream: KeptAlive): () => void {
    const slot = this.#slots.reduce((least, other) => (other.size < least.size ? other : least))
    slot.add(stream)
    return () => void slot.delete(stream)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #tick(): void {
    for (const stream of this.#slots[this.#next] ?? []) stream.keepAlive(this.#stallMs)
    this.#next = (this.#next + 1) % slots
  }
}
