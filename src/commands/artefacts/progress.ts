import { sizeText } from '../../lib/util/amounts.ts'

const redrawMs = 100
const maxLabelChars = 24

/** A line on a terminal, redrawn in place: `shot.exr  54%  162 MB of 300 MB`. */
export class Progress {
  readonly #label: string
  readonly #isShown: boolean
  #total: number | null = null
  #drawnMs = performance.now()
  #isDrawn = false

  constructor(label: string, { json, quiet }: { json: boolean; quiet: boolean }) {
    this.#label = label.length > maxLabelChars ? `${label.slice(0, maxLabelChars - 1)}…` : label
    // A dumb terminal cannot overwrite a line.
    this.#isShown = process.stderr.isTTY && !json && !quiet && process.env.TERM !== 'dumb'
  }

  /** `total` is null when unknown. */
  begin(total: number | null): void {
    this.#total = total
  }

  moved(done: number): void {
    const nowMs = performance.now()
    if (!this.#isShown || nowMs - this.#drawnMs < redrawMs) return
    this.#drawnMs = nowMs
    this.#isDrawn = true
    const total = this.#total
    const amount =
      total === null || total === 0
        ? sizeText(done)
        : `${Math.floor((done / total) * 100)}%  ${sizeText(done)} of ${sizeText(total)}`
    process.stderr.write(`\r${this.#label}  ${amount}\u001b[K`)
  }

  /** Clears the line. */
  end(): void {
    if (this.#isDrawn) process.stderr.write('\r\u001b[K')
    this.#isDrawn = false
  }
}
