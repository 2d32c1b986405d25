import { createHash } from 'node:crypto'
import { sizeText } from '../../lib/util/amounts.ts'

const redrawMs = 100

/**
 * Counts and hashes bytes on their way, and shows a line on a terminal, redrawn in place:
 * `shot.exr  54%  162 MB of 300 MB`.
 */
export class Transfer {
  /** Bytes so far. */
  done = 0
  readonly #label: string
  readonly #isShown: boolean
  readonly #hash = createHash('sha256')

  constructor(label: string, { json, quiet }: { json: boolean; quiet: boolean }) {
    this.#label = label.slice(0, 24)
    // A dumb terminal cannot overwrite a line.
    this.#isShown = process.stderr.isTTY && !json && !quiet && process.env.TERM !== 'dumb'
  }

  /** Passes the chunks on. `total` is NaN when unknown. */
  async *pass(chunks: AsyncIterable<Buffer>, total: number): AsyncGenerator<Buffer> {
    let drawnMs = performance.now()
    try {
      for await (const chunk of chunks) {
        this.#hash.update(chunk)
        yield chunk
        this.done += chunk.length
        if (!this.#isShown || performance.now() - drawnMs < redrawMs) continue
        drawnMs = performance.now()
        process.stderr.write(`\r${this.#label}  ${amountText(this.done, total)}\u001b[K`)
      }
    } finally {
      if (this.#isShown) process.stderr.write('\r\u001b[K')
    }
  }

  /** After the last byte. */
  sha256(): string {
    return this.#hash.digest('hex')
  }
}

function amountText(done: number, total: number): string {
  if (!(total > 0)) return sizeText(done)
  return `${Math.floor((done / total) * 100)}%  ${sizeText(done)} of ${sizeText(total)}`
}
