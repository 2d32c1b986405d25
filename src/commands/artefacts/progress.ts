import { sizeText } from '../../lib/util/amounts.ts'

const redrawMs = 100

/** A line on a terminal, redrawn in place: `shot.exr  54%  162 MB of 300 MB`. */
export class Progress {
  /** Bytes so far. */
  done = 0
  readonly #label: string
  readonly #isShown: boolean
  #total = NaN
  #drawnMs = performance.now()
  #isDrawn = false

  constructor(label: string, { json, quiet }: { json: boolean; quiet: boolean }) {
    this.#label = label.slice(0, 24)
    // A dumb terminal cannot overwrite a line.
    this.#isShown = process.stderr.isTTY && !json && !quiet && process.env.TERM !== 'dumb'
  }

  /** `total` is 0 or NaN when unknown. */
  begin(total: number): void {
    this.#total = total
  }

  add(bytes: number): void {
    this.done += bytes
    const nowMs = performance.now()
    if (!this.#isShown || nowMs - this.#drawnMs < redrawMs) return
    this.#drawnMs = nowMs
    this.#isDrawn = true
    const part = `${Math.floor((this.done / this.#total) * 100)}%  `
    const amount =
      this.#total > 0
        ? `${part}${sizeText(this.done)} of ${sizeText(this.#total)}`
        : sizeText(this.done)
    process.stderr.write(`\r${this.#label}  ${amount}\u001b[K`)
  }

  /** Clears the line. */
  end(): void {
    if (this.#isDrawn) process.stderr.write('\r\u001b[K')
    this.#isDrawn = false
  }
}
