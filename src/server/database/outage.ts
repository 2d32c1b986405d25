import { messageOf } from '../../lib/util/errors.ts'
import { awayFacts, type CheckFacts } from '../../lib/util/regular-check.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { type Clock, toRfc3339 } from '../../lib/util/time.ts'

interface OutageParts {
  readonly clock: Clock
  readonly log: Logger
  /** What does not happen while the database is away, as a clause. */
  readonly effect: string
  readonly over: () => void
}

/** Whether a database answers, as its users found last. */
export class Outage {
  readonly #parts: OutageParts
  #sinceMs: number | null = null
  #error: unknown = null

  constructor(parts: OutageParts) {
    this.#parts = parts
  }

  get isNow(): boolean {
    return this.#sinceMs !== null
  }

  /** For `/readyz`. */
  get facts(): CheckFacts & { readonly since?: string } {
    if (this.#sinceMs === null) return { state: 'connected' }
    return { ...awayFacts(this.#error), since: toRfc3339(this.#sinceMs) }
  }

  answered(): void {
    if (this.#sinceMs === null) return
    this.#sinceMs = null
    this.#parts.log.info({}, 'the database answers again')
    this.#parts.over()
  }

  failed(error: unknown): void {
    if (this.#sinceMs !== null) return
    const { clock, log, effect } = this.#parts
    this.#sinceMs = clock.now()
    this.#error = error
    log.warn({ reason: messageOf(error) }, `the database is away: ${effect}`)
  }
}
