import { type Clock, systemClock } from '../../lib/clock.ts'
import { systemTimer, type Timer } from '../../lib/timer.ts'

/** An answer that is on its way; cutting it closes its connection. */
export interface OpenAnswer {
  destroy(): void
}

/** An expired stream is cut within this time. */
export const expiryCheckMs = 1000

/**
 * What is being answered to whom, so that nothing goes on after its right to it has ended: an event
 * stream may be open for days. It is cut, not ended: its client comes back and is told why it is
 * not let in any more.
 */
export class OpenAnswers {
  readonly #byPrincipal = new Map<string, Set<OpenAnswer>>()
  readonly #expiring = new Map<OpenAnswer, number>()
  readonly #clock: Clock
  readonly #timer: Timer
  #isWatching = false

  constructor(parts: { clock?: Clock; timer?: Timer } = {}) {
    this.#clock = parts.clock ?? systemClock
    this.#timer = parts.timer ?? systemTimer
  }

  /** Returns what to call when it is over. */
  add(principal: string, expiresAtMs: number | undefined, answer: OpenAnswer): () => void {
    const answers = this.#byPrincipal.get(principal) ?? new Set()
    answers.add(answer)
    this.#byPrincipal.set(principal, answers)
    if (expiresAtMs !== undefined) this.#expiring.set(answer, expiresAtMs)
    this.#watch()
    return () => {
      this.#expiring.delete(answer)
      answers.delete(answer)
      if (answers.size === 0 && this.#byPrincipal.get(principal) === answers) {
        this.#byPrincipal.delete(principal)
      }
    }
  }

  /** Cuts everything that goes to the principal. */
  cut(principal: string): void {
    for (const answer of [...(this.#byPrincipal.get(principal) ?? [])]) answer.destroy()
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
