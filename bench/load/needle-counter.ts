/**
 * Counts how often a text occurs in a stream of bytes, also where it lies across two pieces.
 * Cheaper than parsing events, so that the load generator is not what is measured.
 */
export class NeedleCounter {
  readonly #needle: Buffer
  #tail: Buffer = Buffer.alloc(0)

  constructor(needle: Buffer) {
    this.#needle = needle
  }

  /** The number of occurrences that end in this piece. */
  feed(piece: Buffer): number {
    const data = this.#tail.length === 0 ? piece : Buffer.concat([this.#tail, piece])
    let count = 0
    let from = 0
    for (;;) {
      const at = data.indexOf(this.#needle, from)
      if (at === -1) break
      count++
      from = at + this.#needle.length
    }
    const keep = Math.min(this.#needle.length - 1, data.length - from)
    this.#tail = this.#couldStartAt(data, data.length - keep)
    return count
  }

  /** What may be the beginning of a needle at the end of the data; mostly nothing. */
  #couldStartAt(data: Buffer, from: number): Buffer {
    const first = this.#needle[0] ?? 0
    for (let at = data.indexOf(first, from); at !== -1; at = data.indexOf(first, at + 1)) {
      const end = data.subarray(at)
      if (this.#needle.subarray(0, end.length).equals(end)) return Buffer.from(end)
    }
    return Buffer.alloc(0)
  }
}
