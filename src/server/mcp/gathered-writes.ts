import type { Writable } from 'node:stream'

/**
 * Gathers the writes of one turn of the event loop. A single update goes straight to the socket; in a
 * burst, whatever follows the first one is held until the turn ends and leaves in one write. The
 * bookkeeping is one callback per turn, however many streams there are.
 */
export class GatheredWrites {
  #turn = 0
  #scheduled = false
  readonly #corked: Writable[] = []

  /** Number of the current turn; a stream remembers the one it last wrote in. */
  get turn(): number {
    if (!this.#scheduled) {
      this.#scheduled = true
      process.nextTick(() => this.#end())
    }
    return this.#turn
  }

  /** Holds back what is written to `out` from now on, until the turn ends. */
  hold(out: Writable): void {
    if (out.writableCorked > 0) return
    out.cork()
    this.#corked.push(out)
  }

  #end(): void {
    this.#scheduled = false
    this.#turn++
    for (const out of this.#corked.splice(0)) out.uncork()
  }
}
