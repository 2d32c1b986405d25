import { z } from 'zod'
import { outcome } from '../../lib/host-link/messages.ts'
import { firstIssue } from '../../lib/util/first-issue.ts'
import { isSecretMember } from '../../lib/util/secret.ts'
import { parseRfc3339, toRfc3339 } from '../../lib/util/time.ts'
import { boundedJson } from './bounded-json.ts'

/** Entries kept; the oldest go first. */
const maxEntries = 10_000

/** Bytes of the `params` of one entry. */
const maxAuditParamsBytes = 4 * 1024

/**
 * What was done in the application, in memory. `wireAuditLog` of the resources offers its end
 * as `audit://recent`.
 */
export class AuditLog {
  /** Oldest first. */
  readonly #entries: AuditEntry[] = []
  readonly #listeners = new Set<(entry: AuditEntry) => void>()
  #lastId = 0

  /** Id of the newest entry, which is the number of records so far. */
  get lastId(): number {
    return this.#lastId
  }

  /**
   * Adds an entry and tells the listeners. Members of `params` whose names look like secrets
   * are redacted. Throws `TypeError` for an action, outcome or other field of the wrong type;
   * nothing is recorded then. `params` never make it throw.
   */
  record(record: AuditRecord): AuditEntry {
    const entry = this.#entryOf(record)
    this.#lastId = entry.id
    if (this.#entries.push(entry) > maxEntries) this.#entries.shift()
    for (const listener of this.#listeners) listener(entry)
    return entry
  }

  /** The newest entries, at most `limit`, oldest first. */
  recent(limit: number): readonly AuditEntry[] {
    return limit < 1 ? [] : this.#entries.slice(-limit)
  }

  /** Calls the listener on every record. Returns the unsubscribe. */
  onRecord(listener: (entry: AuditEntry) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #entryOf(record: AuditRecord): AuditEntry {
    const { success, data, error } = form.safeParse(record)
    if (!success) throw new TypeError(`invalid audit record: ${firstIssue(error)}`)
    return Object.freeze({
      id: this.#lastId + 1,
      timestamp: toRfc3339(data.timestamp ?? Date.now()),
      actor: data.actor,
      action: data.action,
      params: boundedJson(data.params, maxAuditParamsBytes, redacted),
      duration_ms: data.durationMs,
      outcome: data.outcome,
      session_id: data.sessionId,
    })
  }
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

const textOrNull = z.string().nullable().default(null)
const time = z
  .union([
    z.date().transform(date => date.getTime()),
    z.number(),
    z.string().transform(parseRfc3339),
  ])
  .refine(ms => ms !== null && !Number.isNaN(ms), 'must be a time as in RFC 3339')
const form = z.object({
  action: z.string().min(1, 'must not be empty'),
  outcome: outcome.default('success'),
  actor: textOrNull,
  /** Any JSON value; secrets are redacted by member name, above 4 KiB only the size is kept. */
  params: z.unknown().optional(),
  /** Milliseconds, >= 0. */
  durationMs: z.number().min(0).nullable().default(null),
  sessionId: textOrNull,
  /** A `Date`, a number of milliseconds or an RFC 3339 text. Default: now. */
  timestamp: time.optional(),
})

export type AuditOutcome = z.output<typeof outcome>

/** What a host says about one action. */
export type AuditRecord = z.input<typeof form>

function redacted(name: string, value: unknown): unknown {
  return isSecretMember(name, value) ? '[redacted]' : value
}
