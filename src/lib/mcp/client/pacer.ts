import type { Timer } from '../../util/timer.ts'

export interface PacerParts {
  readonly timer: Timer
  /** Between the begin of one run and that of the next. */
  readonly minIntervalMs: number
  /** `updates`: how many pokes it stands for. Must not reject. */
  readonly run: (updates: number) => Promise<void>
}

/**
 * Many pokes, few runs: the first at once, further ones no sooner than the interval allows, one at a
 * time, and always one after the last poke.
 */
export class Pacer {
  readonly #parts: PacerParts
  #waiting = 0
  #running = false
  /** The interval since the last run is not over. */
  #resting = false
  #stopped = false
  #cancelRest = (): void => {}

  constructor(parts: PacerParts) {
    this.#parts = parts
  }

  poke(): void {
    if (this.#stopped) return
    this.#waiting++
    this.#go()
  }

  stop(): void {
    this.#stopped = true
    this.#cancelRest()
  }

  #go(): void {
    if (this.#stopped || this.#running || this.#resting || this.#waiting === 0) return
    const { timer, minIntervalMs, run } = this.#parts
    const updates = this.#waiting
    this.#waiting = 0
    this.#running = true
    this.#resting = true
    this.#cancelRest = timer.after(minIntervalMs, () => {
      this.#resting = false
      this.#go()
    })
    void run(updates).then(() => {
      this.#running = false
      this.#go()
    })
  }
}
