import { parseRfc3339, toRfc3339 } from '../../lib/util/clock.ts'
import { isJsonObject } from '../../lib/util/json.ts'
import { redactMember } from '../../lib/util/sensitive-name.ts'
import type { Limits } from '../../lib/config/limits.ts'
import { boundedJson } from './bounded-json.ts'
import { cutUtf8 } from './cut-utf8.ts'

export type AuditOutcome =
  | 'success'
  | 'timeout'
  | { readonly denied: { readonly reason: string } }
  | { readonly error: { readonly message: string } }

/** What a host says about one action. */
export interface AuditRecord {
  action: string
  /** Default `success`. */
  outcome?: AuditOutcome | undefined
  actor?: string | null | undefined
  /** Any JSON value; secrets are redacted by member name, above 4 KiB only the size is kept. */
  params?: unknown
  /** Milliseconds, >= 0. */
  durationMs?: number | null | undefined
  sessionId?: string | null | undefined
  /** A `Date`, a number of milliseconds or an RFC 3339 text. Default: now. */
  timestamp?: Date | number | string | undefined
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

export type AuditEntryLimits = Pick<
  Limits,
  'maxAuditParamsBytes' | 'maxAuditTextBytes' | 'maxJsonDepth'
>

/** Throws `TypeError` for a record of the wrong types; only `params` may be anything. */
export function auditEntry(
  record: AuditRecord,
  { id, nowMs, limits }: { id: number; nowMs: number; limits: AuditEntryLimits },
): AuditEntry {
  if (!isJsonObject(record)) throw new TypeError('audit record must be an object')
  const { action, outcome = 'success', actor, params, durationMs, sessionId, timestamp } = record
  if (typeof action !== 'string' || action === '') {
    throw new TypeError('audit action must be a non-empty string')
  }
  const cut: Cut = text => cutUtf8(text, limits.maxAuditTextBytes).text
  const paramsBounds = { maxBytes: limits.maxAuditParamsBytes, maxDepth: limits.maxJsonDepth }
  return Object.freeze({
    id,
    timestamp: toRfc3339(timestamp === undefined ? nowMs : timeMs(timestamp)),
    actor: optionalText('actor', actor, cut),
    action: cut(action),
    params: boundedJson(params, paramsBounds, redactMember),
    duration_ms: duration(durationMs),
    outcome: parseOutcome(outcome, cut),
    session_id: optionalText('sessionId', sessionId, cut),
  })
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
