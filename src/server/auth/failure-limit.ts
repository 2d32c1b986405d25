import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { AuthRefused } from '../http/authentication.ts'

/**
 * Throttles guessing of credentials by address. Counts only wrong credentials: a valid client at
 * the address of an attacker must not be locked out, and a request without credentials guesses
 * nothing.
 */
export class FailureLimit {
  readonly #limiter: RateLimiterMemory

  /** `most`: wrong credentials of one address in a minute. */
  constructor(most = 100) {
    this.#limiter = new RateLimiterMemory({ points: most, duration: 60 })
  }

  /** Counts wrong credentials. Returns the refusal, or 429 when the address had too many. */
  async refused(peer: string, refused: AuthRefused): Promise<AuthRefused> {
    try {
      await this.#limiter.consume(peer)
      return refused
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error
      const retryAfterSeconds = Math.max(1, Math.ceil(error.msBeforeNext / 1000))
      const description = `too many requests with wrong credentials; try again in ${retryAfterSeconds} s`
      return { ...refused, status: 429, description, retryAfterSeconds }
    }
  }
}
