import type { Clock } from '../../../src/lib/util/time.ts'
import type { Timer } from '../../../src/lib/util/time.ts'

/** A clock and a timer that move only when told. */
export class ManualTime implements Clock, Timer {
  #nowMs = Date.parse('2026-01-02T03:04:05.678Z')
  readonly #due = new Set<{ atMs: number; run: () => void }>()

  now(): number {
    return this.#nowMs
  }

  get waiting(): number {
    return this.#due.size
  }

  after(delayMs: number, run: () => void): () => void {
    const entry = { atMs: this.#nowMs + delayMs, run }
    this.#due.add(entry)
    return () => void this.#due.delete(entry)
  }

  advance(ms: number): void {
    this.#nowMs += ms
    for (const entry of [...this.#due]) {
      if (entry.atMs > this.#nowMs || !this.#due.delete(entry)) continue
      entry.run()
    }
  }
}
