import { type Clock, systemClock, systemTimer, type Timer } from '../../lib/util/time.ts'
import type { ServerResponse } from 'node:http'

/** An answer that is on its way; cutting it closes its connection. */
interface OpenAnswer {
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
  /** Whose each is. One map for all: every request is added, and hardly ever is one cut. */
  readonly #principals = new Map<OpenAnswer, string>()
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

/**
 * Waits until `res` is the answer that its connection is sending. A client may pipeline many
 * requests without reading: only one answer of a connection may hold a file and buffers. Resolves
 * with false when the client is gone.
 */
export async function awaitTurn(res: ServerResponse): Promise<boolean> {
  if (res.destroyed) return false
  // Node assigns the socket to one answer at a time, and then emits 'socket'.
  if (res.socket !== null) return true
  return new Promise(resolve => {
    const settle = () => {
      res.off('socket', settle).off('close', settle)
      resolve(!res.destroyed)
    }
    res.on('socket', settle).on('close', settle)
  })
}
