import { z } from 'zod'
import { firstIssue } from '../../lib/util/first-issue.ts'
import { maxJsonDepth } from '../../lib/util/json.ts'
import { isSecretMember } from '../../lib/util/secret.ts'
import { type Clock, parseRfc3339, systemClock, toRfc3339 } from '../../lib/util/time.ts'
import { boundedJson, cutUtf8 } from './bounded-json.ts'

/** Bytes of the `params` of one entry. */
const maxAuditParamsBytes = 4 * 1024

/** Bytes of each text of an entry: action, actor, session id, reason. */
const maxAuditTextBytes = 1024

export interface AuditLogOptions {
  /** Entries kept; the oldest go first. Default 10,000. */
  capacity?: number
  clock?: Clock
}

/**
 * What was done in the application, in memory. `wireAuditLog` of the resources offers its end
 * as `audit://recent`.
 */
export class AuditLog {
  readonly #capacity: number
  readonly #clock: Clock
  /** A ring: the entry with id n is in slot (n - 1) % capacity. */
  readonly #ring: AuditEntry[] = []
  readonly #listeners = new Set<(entry: AuditEntry) => void>()
  #lastId = 0
  #lastRecordedMs: number | null = null

  /** Throws `TypeError` when `capacity` is not a positive integer. */
  constructor({ capacity = 10_000, clock = systemClock }: AuditLogOptions = {}) {
    if (!Number.isSafeInteger(capacity) || capacity < 1) {
      throw new TypeError('audit capacity must be a positive integer')
    }
    this.#capacity = capacity
    this.#clock = clock
  }

  /** Id of the newest entry, which is the number of records so far. */
  get lastId(): number {
    return this.#lastId
  }

  /** When the newest entry was recorded, by this machine's clock; null before the first. */
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
    const entry = auditEntry(record, { id: this.#lastId + 1, nowMs })
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
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}

export type AuditOutcome =
  | 'success'
  | 'timeout'
  | { readonly denied: { readonly reason: string } }
  | { readonly error: { readonly message: string } }

/** What a host says about one action. */
export interface AuditRecord {
  action: string
  /** Default `success`. */
  outcome?: AuditOutcome
  actor?: string | null
  /** Any JSON value; secrets are redacted by member name, above 4 KiB only the size is kept. */
  params?: unknown
  /** Milliseconds, >= 0. */
  durationMs?: number | null
  sessionId?: string | null
  /** A `Date`, a number of milliseconds or an RFC 3339 text. Default: now. */
  timestamp?: Date | number | string
}

/** One entry as it goes on the wire. */
export interface AuditEntry {
  readonly id: number
  /** RFC 3339, milliseconds, UTC. */
  readonly timestamp: string
  readonly actor: string | null
  readonly action: string
  readonly params: unknown
  readonly duration_ms: number | null
  readonly outcome: AuditOutcome
  readonly session_id: string | null
}

const text = z.string().transform(value => cutUtf8(value, maxAuditTextBytes).text)
const textOrNull = text.nullish().transform(value => value ?? null)
const outcome = z.union(
  [
    z.enum(['success', 'timeout']),
    z.object({ denied: z.object({ reason: text }) }),
    z.object({ error: z.object({ message: text }) }),
  ],
  'must be "success", "timeout", {"denied":{"reason"}} or {"error":{"message"}}',
)
const time = z
  .union([
    z.date().transform(date => date.getTime()),
    z.number(),
    z.string().transform(parseRfc3339),
  ])
  .refine(ms => ms !== null && !Number.isNaN(ms), 'must be a time as in RFC 3339')
const form = z.object({
  action: text.refine(action => action !== '', 'must not be empty'),
  outcome: outcome.default('success'),
  actor: textOrNull,
  params: z.unknown().optional(),
  durationMs: z
    .number()
    .min(0)
    .nullish()
    .transform(value => value ?? null),
  sessionId: textOrNull,
  timestamp: time.optional(),
})

/** Throws `TypeError` for a record of the wrong types; only `params` may be anything. */
function auditEntry(record: AuditRecord, { id, nowMs }: { id: number; nowMs: number }): AuditEntry {
  const { success, data, error } = form.safeParse(record)
  if (!success) throw new TypeError(`invalid audit record: ${firstIssue(error)}`)
  const paramsBounds = { maxBytes: maxAuditParamsBytes, maxDepth: maxJsonDepth }
  return Object.freeze({
    id,
    timestamp: toRfc3339(data.timestamp ?? nowMs),
    actor: data.actor,
    action: data.action,
    params: boundedJson(data.params, paramsBounds, redacted),
    duration_ms: data.durationMs,
    outcome: data.outcome,
    session_id: data.sessionId,
  })
}

function redacted(name: string, value: unknown): unknown {
  return isSecretMember(name, value) ? '[redacted]' : value
}
