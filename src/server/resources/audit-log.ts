import { type Clock, parseRfc3339, systemClock, toRfc3339 } from '../../lib/util/time.ts'
import { isJsonObject, maxJsonDepth } from '../../lib/util/json.ts'
import { isSecretMember } from '../../lib/util/secret.ts'
import { boundedJson, cutUtf8 } from './bounded-json.ts'

/** Bytes of the `params` of one entry. */
const maxAuditParamsBytes = 4 * 1024

/** Bytes of each text of an entry: action, actor, session id, reason. */
const maxAuditTextBytes = 1024

export interface AuditLogOptions {
  /** Entries kept; the oldest go first. Default 10,000. */
  capacity?: number
  clock?: Clock
  /** Bounds of one entry; those left out keep their defaults. */
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
    const own = (entry: AuditEntry) => listener(entry)
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
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

/** Throws `TypeError` for a record of the wrong types; only `params` may be anything. */
function auditEntry(record: AuditRecord, { id, nowMs }: { id: number; nowMs: number }): AuditEntry {
  if (!isJsonObject(record)) throw new TypeError('audit record must be an object')
  const { action, outcome = 'success', actor, params, durationMs, sessionId, timestamp } = record
  if (typeof action !== 'string' || action === '') {
    throw new TypeError('audit action must be a non-empty string')
  }
  const cut: Cut = text => cutUtf8(text, maxAuditTextBytes).text
  const paramsBounds = { maxBytes: maxAuditParamsBytes, maxDepth: maxJsonDepth }
  return Object.freeze({
    id,
    timestamp: toRfc3339(timestamp === undefined ? nowMs : timeMs(timestamp)),
    actor: optionalText('actor', actor, cut),
    action: cut(action),
    params: boundedJson(params, paramsBounds, redacted),
    duration_ms: duration(durationMs),
    outcome: parseOutcome(outcome, cut),
    session_id: optionalText('sessionId', sessionId, cut),
  })
}

function redacted(name: string, value: unknown): unknown {
  return isSecretMember(name, value) ? '[redacted]' : value
}

/** A text within the bytes that an entry may have. */
type Cut = (text: string) => string

function parseOutcome(outcome: unknown, cut: Cut): AuditOutcome {
  if (outcome === 'success' || outcome === 'timeout') return outcome
  const reason = innerText(outcome, 'denied', 'reason')
  if (reason !== null) return Object.freeze({ denied: Object.freeze({ reason: cut(reason) }) })
  const message = innerText(outcome, 'error', 'message')
  if (message !== null) return Object.freeze({ error: Object.freeze({ message: cut(message) }) })
  throw new TypeError(
    'audit outcome must be "success", "timeout", {"denied":{"reason"}} or {"error":{"message"}}',
  )
}

function innerText(value: unknown, outer: string, inner: string): string | null {
  if (!isJsonObject(value) || !isJsonObject(value[outer])) return null
  const text = value[outer][inner]
  return typeof text === 'string' ? text : null
}

function optionalText(name: string, value: unknown, cut: Cut): string | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'string') throw new TypeError(`audit ${name} must be a string`)
  return cut(value)
}

function duration(value: unknown): number | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) {
    throw new TypeError('audit durationMs must be a number of milliseconds >= 0')
  }
  return value
}

function timeMs(value: Date | number | string): number {
  const time = typeof value === 'string' ? parseRfc3339(value) : new Date(value).getTime()
  if (time === null || Number.isNaN(time)) {
    throw new TypeError('audit timestamp must be a Date, milliseconds or an RFC 3339 text')
  }
  return time
}
