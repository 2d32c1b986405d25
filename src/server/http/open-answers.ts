import { type Clock, systemClock, systemTimer, type Timer } from '../../lib/util/time.ts'
import type { ServerResponse } from 'node:http'

/** An expired stream is cut within this time. */
export const expiryCheckMs = 1000

/**
 * What is being answered to whom, so that nothing goes on after its right to it has ended: an event
 * stream may be open for days. It is cut, not ended: its client comes back and is told why it is
 * not let in any more.
 */
export class OpenAnswers {
  /** Principal of each open answer. */
  readonly #principals = new Map<ServerResponse, string>()
  readonly #expiring = new Map<ServerResponse, number>()
  readonly #clock: Clock
  readonly #timer: Timer
  #isWatching = false

  constructor(parts: { clock?: Clock; timer?: Timer } = {}) {
    this.#clock = parts.clock ?? systemClock
    this.#timer = parts.timer ?? systemTimer
  }

  /** Returns what to call when it is over. */
  add(principal: string, expiresAtMs: number | undefined, answer: ServerResponse): () => void {
    this.#principals.set(answer, principal)
    if (expiresAtMs !== undefined) {
      this.#expiring.set(answer, expiresAtMs)
      this.#watch()
    }
    return () => {
      this.#principals.delete(answer)
      this.#expiring.delete(answer)
    }
  }

  /** Cuts everything that goes to the principal. */
  cut(principal: string): void {
    for (const [answer, whose] of [...this.#principals]) {
      if (whose === principal) answer.destroy()
    }
  }

  #watch(): void {
    if (this.#isWatching || this.#expiring.size === 0) return
    this.#isWatching = true
    this.#timer.after(expiryCheckMs, () => {
      this.#isWatching = false
      const now = this.#clock.now()
      for (const [answer, expiresAtMs] of [...this.#expiring]) {
        if (expiresAtMs <= now) answer.destroy()
      }
      this.#watch()
    })
  }
}
