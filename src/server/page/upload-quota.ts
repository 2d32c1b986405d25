import type { Clock } from '../../lib/util/time.ts'

const windowMs = 60 * 60_000

/** How many bytes a login may upload in an hour, counted from its first upload. */
export class UploadQuota {
  readonly #maxBytes: number
  readonly #clock: Clock
  #sinceMs = -Infinity
  #bytes = 0

  constructor(maxBytes: number, clock: Clock) {
    this.#maxBytes = maxBytes
    this.#clock = clock
  }

  /** Counts the bytes; false, without counting them, when they are too many. */
  take(bytes: number): boolean {
    if (!this.has(bytes)) return false
    this.#bytes += bytes
    return true
  }

  /** Would so many be taken? */
  has(bytes: number): boolean {
    const nowMs = this.#clock.now()
    if (Math.abs(nowMs - this.#sinceMs) >= windowMs) {
      this.#sinceMs = nowMs
      this.#bytes = 0
    }
    return this.#bytes + bytes <= this.#maxBytes
  }

  /** Until more is taken. */
  get secondsLeft(): number {
    return Math.max(1, Math.ceil((this.#sinceMs + windowMs - this.#clock.now()) / 1000))
  }
}
