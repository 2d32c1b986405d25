export type Line =
  | { readonly kind: 'line'; readonly bytes: Buffer }
  /** A line over the limit. Reported once; the rest is skipped. */
  | { readonly kind: 'oversize' }

const newline = 0x0a

/** Splits chunks of bytes into lines. */
export class LineSplitter {
  readonly #maxBytes: number
  #parts: Buffer[] = []
  #held = 0
  #skipping = false

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Returns the lines that this chunk completes, without newlines. */
  push(chunk: Buffer): Line[] {
    const lines: Line[] = []
    let from = 0
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      this.#take(chunk.subarray(from, end), lines)
      this.#finish(lines)
      from = end + 1
    }
    this.#take(chunk.subarray(from), lines)
    return lines
  }

  /** Returns a last line without newline. */
  end(): Line[] {
    const lines: Line[] = []
    if (this.#held > 0) this.#finish(lines)
    return lines
  }

  #take(bytes: Buffer, lines: Line[]): void {
    if (this.#skipping || bytes.length === 0) return
    this.#held += bytes.length
    if (this.#held <= this.#maxBytes) {
      this.#parts.push(bytes)
      return
    }
    this.#skipping = true
    this.#parts = []
    lines.push({ kind: 'oversize' })
  }

  #finish(lines: Line[]): void {
    if (!this.#skipping) lines.push({ kind: 'line', bytes: join(this.#parts) })
    this.#parts = []
    this.#held = 0
    this.#skipping = false
  }
}

function join(parts: Buffer[]): Buffer {
  const [only] = parts
  return only !== undefined && parts.length === 1 ? only : Buffer.concat(parts)
}
