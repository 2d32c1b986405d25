import type { Clock } from '../../lib/util/time.ts'
import type { AuthRefused } from '../http/authentication.ts'
import type { AuthLimits } from './limits.ts'

type FailureLimits = Pick<
  AuthLimits,
  'maxAuthFailures' | 'authFailureWindowMs' | 'maxAuthFailurePeers'
>

/**
 * Throttles guessing of credentials by address. Counts only wrong credentials: a valid client at
 * the address of an attacker must not be locked out, and a request without credentials guesses
 * nothing.
 */
export class FailureLimit {
  readonly #ticks: Clock
  readonly #limits: FailureLimits
  /** Ordered by the start of the count. */
  readonly #byPeer = new Map<string, { sinceMs: number; count: number }>()

  constructor(parts: { ticks: Clock; limits: FailureLimits }) {
    this.#ticks = parts.ticks
    this.#limits = parts.limits
  }

  /** The number of counted addresses. */
  get size(): number {
    return this.#byPeer.size
  }

  /** Counts wrong credentials. Returns the refusal, or 429 when the address had too many. */
  refused(peer: string, refused: AuthRefused): AuthRefused {
    const { maxAuthFailures, authFailureWindowMs } = this.#limits
    const now = this.#ticks.now()
    const counted = this.#counted(peer, now)
    counted.count++
    if (counted.count <= maxAuthFailures) return refused
    const leftMs = counted.sinceMs + authFailureWindowMs - now
    const retryAfterSeconds = Math.max(1, Math.ceil(leftMs / 1000))
    return {
      ...refused,
      status: 429,
      description: `too many requests with wrong credentials; try again in ${retryAfterSeconds} s`,
      retryAfterSeconds,
    }
  }

  #counted(peer: string, now: number): { sinceMs: number; count: number } {
    const known = this.#byPeer.get(peer)
    if (known !== undefined && now - known.sinceMs < this.#limits.authFailureWindowMs) return known
    this.#byPeer.delete(peer)
    const [oldest] = this.#byPeer.keys()
    if (oldest !== undefined && this.#byPeer.size >= this.#limits.maxAuthFailurePeers) {
      this.#byPeer.delete(oldest)
    }
    const begun = { sinceMs: now, count: 0 }
    this.#byPeer.set(peer, begun)
    return begun
  }
}
