import type { Clock } from '../../lib/util/time.ts'
import type { AuthRefused } from '../http/authentication.ts'
import type { AuthLimits } from './limits.ts'

type FailureLimits = Pick<
  AuthLimits,
  'maxAuthFailures' | 'authFailureWindowMs' | 'maxAuthFailurePeers'
>

/**
 * Slows down whoever tries credentials. Only wrong ones count: a client with valid ones, at the same
 * address as an attacker, must not be locked out, and one without any has guessed nothing (it is
 * told by its 401 how to get some).
 */
export class FailureLimit {
  readonly #ticks: Clock
  readonly #limits: FailureLimits
  /** In the order in which counting began. */
  readonly #byPeer = new Map<string, { sinceMs: number; count: number }>()

  constructor(parts: { ticks: Clock; limits: FailureLimits }) {
    this.#ticks = parts.ticks
    this.#limits = parts.limits
  }

  /** Addresses that are counted. */
  get size(): number {
    return this.#byPeer.size
  }

  /** The refusal of wrong credentials: itself, or 429 when its address had too many. */
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
