import type { Clock } from '../../lib/util/clock.ts'
import type { Timer } from './timer.ts'

/** At most one call in `intervalMs`; the last request of a burst is never lost, until it is closed. */
export class Throttle {
  readonly #intervalMs: number
  readonly #run: () => void
  readonly #clock: Clock
  readonly #timer: Timer
  #lastMs = Number.NEGATIVE_INFINITY
  #cancel: (() => void) | undefined
  #closed = false

  constructor(
    intervalMs: number,
    run: () => void,
    { clock, timer }: { clock: Clock; timer: Timer },
  ) {
    this.#intervalMs = intervalMs
    this.#run = run
    this.#clock = clock
    this.#timer = timer
  }

  request(): void {
    if (this.#closed || this.#cancel !== undefined) return
    const waited = this.#clock.now() - this.#lastMs
    if (waited >= this.#intervalMs) {
      this.#fire()
      return
    }
    // A clock set back must not silence it for longer than the interval.
    const delayMs = Math.min(this.#intervalMs - waited, this.#intervalMs)
    this.#cancel = this.#timer.after(delayMs, () => {
      this.#cancel = undefined
      this.#fire()
    })
  }

  close(): void {
    this.#closed = true
    this.#cancel?.()
    this.#cancel = undefined
  }

  #fire(): void {
    this.#lastMs = this.#clock.now()
    this.#run()
  }
}
