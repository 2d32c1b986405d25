import type { Clock } from '../../lib/util/time.ts'

/** The list is announced no more often than that, so expired artefacts are looked for no sooner. */
const minDelayMs = 1000
const maxTimerMs = 2 ** 31 - 1

/** Runs `expired` at the time it was set to last. Keeps no process alive. */
export class ExpiryTimer {
  readonly #clock: Clock
  readonly #expired: () => void
  #timer: NodeJS.Timeout | undefined
  #atMs = Infinity
  #closed = false

  constructor(clock: Clock, expired: () => void) {
    this.#clock = clock
    this.#expired = expired
  }

  /** Infinity: nothing expires. */
  set(atMs: number): void {
    if (this.#closed || atMs === this.#atMs) return
    clearTimeout(this.#timer)
    this.#atMs = atMs
    if (atMs === Infinity) return
    const delayMs = Math.min(Math.max(atMs - this.#clock.now(), minDelayMs), maxTimerMs)
    this.#timer = setTimeout(() => {
      this.#atMs = Infinity
      this.#expired()
    }, delayMs).unref()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }
}
