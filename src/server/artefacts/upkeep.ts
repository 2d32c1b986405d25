import { errnoOf, messageOf } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { type Clock, maxTimerMs } from '../../lib/util/time.ts'

/** Runs tasks that no caller waits for. A failure is logged once, until its cause changes. */
export function createUpkeep(log: Logger): (task: () => Promise<void>) => void {
  let lastCause = ''
  return task => {
    task().then(
      () => {
        lastCause = ''
      },
      error => {
        const cause = errnoOf(error) ?? errnoOf(error.cause) ?? messageOf(error)
        if (cause !== lastCause) log.error({ err: error }, 'upkeep of the artefact folder failed')
        lastCause = cause
      },
    )
  }
}

/** Those who want to know that artefacts were added or removed. */
export class ChangeListeners {
  readonly #listeners = new Set<() => void>()
  readonly #log: Logger

  constructor(log: Logger) {
    this.#log = log
  }

  get isEmpty(): boolean {
    return this.#listeners.size === 0
  }

  /** Each subscription is its own, even of the same function. Returns the unsubscribe. */
  add(listener: () => void): () => void {
    const own = () => listener()
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

  notify(): void {
    for (const listener of this.#listeners) {
      try {
        listener()
      } catch (error) {
        this.#log.error({ err: error }, 'a listener of the artefact store failed')
      }
    }
  }

  clear(): void {
    this.#listeners.clear()
  }
}

/** A timer that keeps no process alive; none at all for 0. */
export function every(periodMs: number, task: () => void): NodeJS.Timeout | undefined {
  return periodMs === 0 ? undefined : setInterval(task, periodMs).unref()
}

/** The list is announced no more often than that, so expired artefacts are looked for no sooner. */
const minDelayMs = 1000

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
