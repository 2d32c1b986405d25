import type { Clock } from '../../lib/util/clock.ts'

export interface HeartbeatParts {
  /** Time in which this process was able to see a heartbeat. */
  readonly awake: Clock
  /** The time of day: asked once, at first sight. */
  readonly clock: Clock
  readonly staleMs: number
}

/**
 * Follows the modification time of one record. It is compared with itself alone: whoever sets the
 * clock of a machine, or writes from one that goes wrong, changes no verdict. Only at first sight,
 * when there is nothing to compare it with, the time of day decides whether it is old.
 */
export class Heartbeat {
  /** Changes since `countAnew`. */
  beats = 0
  readonly #awake: Clock
  #modifiedMs: number
  #signMs: number | null
  #lookedMs: number

  constructor(modifiedMs: number, { awake, clock, staleMs }: HeartbeatParts) {
    const ageMs = Math.max(0, clock.now() - modifiedMs)
    this.#awake = awake
    this.#modifiedMs = modifiedMs
    this.#lookedMs = awake.now()
    this.#signMs = ageMs > staleMs ? null : this.#lookedMs - ageMs
  }

  look(modifiedMs: number): void {
    this.#lookedMs = this.#awake.now()
    if (modifiedMs === this.#modifiedMs) return
    this.#modifiedMs = modifiedMs
    this.#signMs = this.#lookedMs
    this.beats++
  }

  countAnew(): void {
    this.beats = 0
  }

  /** Null: no sign of life yet. */
  get ageMs(): number | null {
    return this.#signMs === null ? null : this.#awake.now() - this.#signMs
  }

  /** At the last look: what came since may only not have been seen yet. */
  get ageAtLookMs(): number | null {
    return this.#signMs === null ? null : this.#lookedMs - this.#signMs
  }
}
