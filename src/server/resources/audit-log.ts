import { type Clock, systemClock } from '../../lib/util/clock.ts'
import { resolveLimits } from '../../lib/config/limits.ts'
import {
  type AuditEntry,
  type AuditEntryLimits,
  type AuditRecord,
  auditEntry,
} from './audit-entry.ts'

export interface AuditLogOptions {
  /** Entries kept; the oldest go first. Default 10,000. */
  capacity?: number
  clock?: Clock
  /** Bounds of one entry; those left out keep their defaults. */
  limits?: Partial<AuditEntryLimits>
}

/**
 * What was done in the application, in memory. `wireAuditLog` of the resources offers its end
 * as `audit://recent`.
 */
export class AuditLog {
  readonly #capacity: number
  readonly #clock: Clock
  readonly #limits: AuditEntryLimits
  /** A ring: the entry with id n is in slot (n - 1) % capacity. */
  readonly #ring: AuditEntry[] = []
  readonly #listeners = new Set<(entry: AuditEntry) => void>()
  #lastId = 0
  #lastRecordedMs: number | null = null

  /** Throws `TypeError` when `capacity` is not a positive integer. */
  constructor({ capacity = 10_000, clock = systemClock, limits = {} }: AuditLogOptions = {}) {
    if (!Number.isSafeInteger(capacity) || capacity < 1) {
      throw new TypeError('audit capacity must be a positive integer')
    }
    this.#capacity = capacity
    this.#clock = clock
    this.#limits = resolveLimits(limits)
  }

  /** Id of the newest entry, which is the number of records so far. */
  get lastId(): number {
    return this.#lastId
  }

  /** When the newest entry was recorded, whatever time it names itself; null before the first. */
  get lastRecordedMs(): number | null {
    return this.#lastRecordedMs
  }

  /** Entries held now. */
  get size(): number {
    return this.#ring.length
  }

  /**
   * Adds an entry and tells the listeners. Members of `params` whose names look like secrets
   * are redacted. Throws `TypeError` for an action, outcome or other field of the wrong type;
   * nothing is recorded then. `params` never make it throw.
   */
  record(record: AuditRecord): AuditEntry {
    const nowMs = this.#clock.now()
    const entry = auditEntry(record, { id: this.#lastId + 1, nowMs, limits: this.#limits })
    this.#ring[this.#lastId % this.#capacity] = entry
    this.#lastId = entry.id
    this.#lastRecordedMs = nowMs
    for (const listener of this.#listeners) {
      try {
        listener(entry)
      } catch {
        // Recording must not fail for a listener, nor one listener for another.
      }
    }
    return entry
  }

  /** The newest entries, at most `limit`, oldest first. */
  recent(limit: number): readonly AuditEntry[] {
    const count = Math.max(0, Math.min(Math.floor(limit), this.#ring.length))
    const start = (this.#lastId - count) % this.#capacity
    const tail = this.#ring.slice(start, start + count)
    return tail.length === count ? tail : tail.concat(this.#ring.slice(0, count - tail.length))
  }

  /** Calls the listener on every record. Returns the unsubscribe. */
  onRecord(listener: (entry: AuditEntry) => void): () => void {
    const own = (entry: AuditEntry) => listener(entry)
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }
}
