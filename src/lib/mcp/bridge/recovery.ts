import type { Logger } from '../../util/logger.ts'
import { fail, ok, type Result } from '../../util/result.ts'
import { retryDelay, type Timer } from '../../util/time.ts'
import { type Locate, shownUrl, type Target } from './context.ts'

/** Server state that a restart loses: a session or listen streams. */
export interface Restorable {
  /** True when there is state to restore. */
  needed(): boolean
  /** Ends open streams after a loss of the server. */
  interrupt(): void
  /** Called until it resolves with ok. Must be idempotent and must not reject. */
  restore(target: Target): Promise<Result<void, string>>
}

interface RecoveryParts {
  readonly locate: Locate
  readonly timer: Timer
  /** 0…1 */
  readonly random: () => number
  readonly log: Logger
}

/** The state while the server is unreachable. */
interface Outage {
  reason: string
  attempts: number
  pauses: number
  running: Promise<Result<Target, string>> | null
  /** The server was lost again during the running attempt. */
  again: boolean
  cancelRetry: () => void
}

/** Tracks the server and reconnects with backoff after a loss. */
export class Recovery {
  readonly #parts: RecoveryParts
  #restorables: readonly Restorable[] = []
  #target: Target | null = null
  #locating: Promise<Result<Target, string>> | null = null
  #outage: Outage | null = null
  #generation = 0
  #missed = false
  #stopped = false

  constructor(parts: RecoveryParts) {
    this.#parts = parts
  }

  /** Must be called once, before any other method. */
  restores(restorables: Restorable[]): void {
    this.#restorables = restorables
  }

  /** Counts losses, so that a late report about an earlier run of the server is ignored. */
  get generation(): number {
    return this.#generation
  }

  /**
   * Returns the target for a request. While the server is away, tries to reconnect at once; fails
   * with the reason as one clause.
   */
  ready(): Promise<Result<Target, string>> {
    if (this.#outage !== null) return this.#attempt(this.#outage)
    if (this.#target !== null) return Promise.resolve(ok(this.#target))
    this.#locating ??= this.#locate().finally(() => (this.#locating = null))
    return this.#locating
  }

  /** Reports an answered request. */
  reached(target: Target): void {
    if (!this.#missed) return
    this.#missed = false
    this.#parts.log.info({ url: shownUrl(target.url) }, 'the server answers')
  }

  /** Reports that the server of that `generation` is gone or forgot the session. */
  lost(reason: string, generation: number): void {
    if (generation !== this.#generation || this.#stopped) return
    const { log } = this.#parts
    const restorables = this.#restorables
    const url = this.#target === null ? undefined : shownUrl(this.#target.url)
    const needed = restorables.some(restorable => restorable.needed())
    if (this.#outage !== null) {
      // The state that the running attempt has restored is lost again.
      for (const restorable of restorables) restorable.interrupt()
      this.#outage.again = true
      this.#outage.reason = reason
      return
    }
    this.#generation++
    this.#target = null
    if (!needed) {
      if (!this.#missed) log.warn({ url, reason }, 'the server cannot be reached')
      this.#missed = true
      return
    }
    log.warn({ url, reason }, 'the server is lost')
    for (const restorable of restorables) restorable.interrupt()
    this.#outage = {
      reason,
      attempts: 0,
      pauses: 0,
      running: null,
      again: false,
      cancelRetry: () => {},
    }
    this.#retryLater(this.#outage)
  }

  stop(): void {
    this.#stopped = true
    this.#outage?.cancelRetry()
  }

  async #locate(): Promise<Result<Target, string>> {
    const place = await this.#parts.locate()
    if (place.ok && this.#outage === null) this.#target = place.value
    return place
  }

  #retryLater(outage: Outage): void {
    if (this.#stopped) return
    const delayMs = retryDelay(outage.pauses, this.#parts.random)
    outage.cancelRetry = this.#parts.timer.after(delayMs, () => {
      // Only timed attempts increase the delay: requests of a busy client must not.
      outage.pauses++
      void this.#attempt(outage)
    })
  }

  /** Runs one attempt at a time; concurrent callers share its result. */
  #attempt(outage: Outage): Promise<Result<Target, string>> {
    if (this.#stopped) return Promise.resolve(fail(outage.reason))
    outage.running ??= this.#try(outage).finally(() => (outage.running = null))
    return outage.running
  }

  async #try(outage: Outage): Promise<Result<Target, string>> {
    outage.cancelRetry()
    outage.again = false
    const target = await this.#restoreAll()
    outage.attempts++
    if (target.ok && !outage.again) {
      this.#outage = null
      this.#target = target.value
      this.#missed = false
      const { url, name } = target.value
      const fields = { url: shownUrl(url), name, attempts: outage.attempts }
      this.#parts.log.info(fields, 'connected to the server again')
      return target
    }
    if (!target.ok) outage.reason = target.failure
    this.#retryLater(outage)
    return fail(outage.reason)
  }

  async #restoreAll(): Promise<Result<Target, string>> {
    const place = await this.#parts.locate()
    if (!place.ok) return place
    for (const restorable of this.#restorables) {
      if (this.#stopped || !restorable.needed()) continue
      const restored = await restorable.restore(place.value)
      if (!restored.ok) return restored
    }
    return place
  }
}
