import type { Timer } from '../util/time.ts'

interface ThrottleParts {
  readonly timer: Timer
  /** Between the starts of two runs. */
  readonly minIntervalMs: number
  /** Run only after this time without a poke; 0 by default. */
  readonly settleMs?: number
  /** `updates`: the pokes since the last run. Must not reject. */
  readonly run: (updates: number) => Promise<void>
}

/** Pokes that go on delay a run for this many times `settleMs` at most. */
const maxSettles = 10

/**
 * A throttle: runs at once, or when the pokes have settled; then at most once an interval, never
 * concurrently, and always once after the last poke.
 */
export class Throttle {
  readonly #parts: ThrottleParts
  #waiting = 0
  #running = false
  /** The interval since the last run has not passed. */
  #resting = false
  #isQuiet = true
  /** The pokes have waited for the longest time. */
  #isLate = false
  #stopped = false
  #cancelRest = (): void => {}
  #cancelQuiet = (): void => {}
  #cancelLate = (): void => {}

  constructor(parts: ThrottleParts) {
    this.#parts = parts
  }

  poke(): void {
    if (this.#stopped) return
    this.#waiting++
    this.#settle()
    this.#go()
  }

  stop(): void {
    this.#stopped = true
    this.#cancelRest()
    this.#cancelQuiet()
    this.#cancelLate()
  }

  #settle(): void {
    const { timer, settleMs = 0 } = this.#parts
    if (settleMs === 0) return
    this.#isQuiet = false
    this.#cancelQuiet()
    this.#cancelQuiet = timer.after(settleMs, () => {
      this.#isQuiet = true
      this.#go()
    })
    if (this.#waiting > 1) return
    this.#cancelLate = timer.after(maxSettles * settleMs, () => {
      this.#isLate = true
      this.#go()
    })
  }

  #go(): void {
    if (this.#stopped || this.#running || this.#resting || this.#waiting === 0) return
    if (!this.#isQuiet && !this.#isLate) return
    const { timer, minIntervalMs, run } = this.#parts
    const updates = this.#waiting
    this.#waiting = 0
    this.#isLate = false
    this.#cancelLate()
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
