import { type Clock, monotonicClock, type Timer } from '../util/time.ts'

interface ThrottleOptions {
  readonly timer: Timer
  readonly clock?: Clock
  /** Between the starts of two runs. */
  readonly minIntervalMs: number
  /** Run only after this time without a trigger; 0 by default. */
  readonly debounceMs?: number
  /** `updates`: the pokes since the last run. Must not reject. */
  readonly run: (updates: number) => Promise<void>
}

/** Triggers that go on delay a run for this many times `debounceMs` at most. */
const maxDebounces = 10

/**
 * A throttle: runs at once, or when the pokes have settled; then at most once an interval, never
 * concurrently, and always once after the last trigger.
 */
export class Throttle {
  readonly #options: ThrottleOptions
  readonly #clock: Clock
  #waiting = 0
  #firstTriggerMs = 0
  #lastTriggerMs = 0
  #lastRunMs = -Infinity
  #isRunning = false
  #isStopped = false
  #cancel: (() => void) | null = null

  constructor(options: ThrottleOptions) {
    this.#options = options
    this.#clock = options.clock ?? monotonicClock
  }

  trigger(): void {
    this.#lastTriggerMs = this.#clock.now()
    if (this.#waiting++ === 0) this.#firstTriggerMs = this.#lastTriggerMs
    this.#plan()
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  /** Runs, or waits until the next run may be due. */
  #plan(): void {
    if (this.#isStopped || this.#isRunning || this.#waiting === 0 || this.#cancel !== null) return
    const { timer, minIntervalMs, debounceMs = 0 } = this.#options
    const latestMs = this.#firstTriggerMs + maxDebounces * debounceMs
    const debouncedMs = Math.min(this.#lastTriggerMs + debounceMs, latestMs)
    const waitMs = Math.max(debouncedMs, this.#lastRunMs + minIntervalMs) - this.#clock.now()
    if (waitMs <= 0) return void this.#run()
    this.#cancel = timer.after(waitMs, () => {
      this.#cancel = null
      this.#plan()
    })
  }

  async #run(): Promise<void> {
    const updates = this.#waiting
    this.#waiting = 0
    this.#lastRunMs = this.#clock.now()
    this.#isRunning = true
    await this.#options.run(updates)
    this.#isRunning = false
    this.#plan()
  }
}
