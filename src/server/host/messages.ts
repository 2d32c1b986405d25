import { maxEventMetadataBytes } from '../resources/session-event-buffer.ts'
import { omitUndefined } from '../../lib/util/members.ts'
import { type Result, fail, ok } from '../../lib/util/result.ts'
import type { AuditOutcome, AuditRecord } from '../resources/audit-log.ts'
import type { SessionEventInput, SessionEventLevel } from '../resources/session-event-buffer.ts'
import { type MemberFailure, MemberReader, pointerTo } from '../../lib/host-link/member-reader.ts'

/** Characters of a name or an id that the application sends. */
export const maxFieldChars = 255

/** Audit records, or events, in one post of the application. */
export const maxHostBatch = 100

/**
 * Characters that may stand unescaped in the path of a URI (RFC 3986, `pchar`), so that an id reads
 * the same in `events://session/<id>`, in a path and in a log. No slash, so nothing to climb with.
 */
const sessionId = /^[A-Za-z0-9._~:@+-]{1,128}$/

/** What a session id is, behind "must be". */
export const sessionIdForm = '1 to 128 of the characters A-Z a-z 0-9 . _ ~ : @ + -'

export function isSessionId(value: string): boolean {
  return sessionId.test(value) && value !== '.' && value !== '..'
}

const levels: ReadonlyMap<string, SessionEventLevel> = new Map([
  ['trace', 'trace'],
  ['debug', 'debug'],
  ['info', 'info'],
  ['warning', 'warning'],
  ['warn', 'warning'],
  ['error', 'error'],
])

/** `{"records":[…]}` */
export function parseAuditPost(body: unknown): Result<AuditRecord[], MemberFailure> {
  return parseBatch(body, 'records', parseAuditRecord)
}

/** `{"events":[…]}`; an event may repeat the session it belongs to, but not name another. */
export function parseEventsPost(
  body: unknown,
  sessionId: string,
): Result<SessionEventInput[], MemberFailure> {
  return parseBatch(body, 'events', (value, pointer) => parseEvent(value, pointer, sessionId))
}

/**
 * A session id as it stands in a path, percent-decoded once: encoders that escape `:`, `@` and `+`
 * all the same are understood.
 */
export function parseSessionId(segment: string): Result<string, string> {
  try {
    const id = decodeURIComponent(segment)
    if (isSessionId(id)) return ok(id)
  } catch {
    // A broken escape.
  }
  return fail(`must be ${sessionIdForm}`)
}

/** All or nothing: one wrong item and the whole post is refused. */
function parseBatch<Item>(
  body: unknown,
  member: string,
  parseItem: (value: unknown, pointer: string) => Result<Item, MemberFailure>,
): Result<Item[], MemberFailure> {
  const reader = new MemberReader(body, '')
  const list = reader.any(member)
  if (!Array.isArray(list)) reader.refuse(member, 'must be an array')
  else if (list.length > maxHostBatch) {
    reader.refuse(member, `must not have more than ${maxHostBatch} entries`)
  }
  if (reader.failure !== null) return fail(reader.failure)
  const items: Item[] = []
  for (const [index, value] of (list as unknown[]).entries()) {
    const item = parseItem(value, pointerTo(`/${member}`, index))
    if (!item.ok) return item
    items.push(item.value)
  }
  return ok(items)
}

function parseAuditRecord(value: unknown, pointer: string): Result<AuditRecord, MemberFailure> {
  const reader = new MemberReader(value, pointer)
  const text = (name: string) => reader.name(name, maxFieldChars)
  return reader.finish<AuditRecord>(
    omitUndefined({
      action: reader.required('action', text('action'), ''),
      outcome: parseOutcome(reader, pointer),
      actor: text('actor'),
      params: reader.any('params'),
      durationMs: reader.durationMs('duration_ms'),
      sessionId: text('session_id'),
      timestamp: reader.time('timestamp'),
    }),
  )
}

/** Its texts may be long (a traceback): the log cuts them. */
function parseOutcome(reader: MemberReader, pointer: string): AuditOutcome | undefined {
  const value = reader.any('outcome')
  if (value === undefined || value === 'success' || value === 'timeout') return value
  const forms = 'must be "success", "timeout", {"denied":{"reason"}} or {"error":{"message"}}'
  if (typeof value !== 'object' || value === null) return reader.refuse('outcome', forms)
  const [kind, ...others] = Object.keys(value)
  if (others.length > 0 || (kind !== 'denied' && kind !== 'error')) {
    return reader.refuse('outcome', forms)
  }
  const member = kind === 'denied' ? 'reason' : 'message'
  const inner = new MemberReader(
    new MemberReader(value, '').any(kind),
    `${pointer}/outcome/${kind}`,
  )
  const text = inner.required(member, inner.text(member), '')
  reader.inherit(inner.failure)
  return kind === 'denied' ? { denied: { reason: text } } : { error: { message: text } }
}

function parseEvent(
  value: unknown,
  pointer: string,
  sessionId: string,
): Result<SessionEventInput, MemberFailure> {
  const reader = new MemberReader(value, pointer)
  const text = (name: string) => reader.name(name, maxFieldChars)
  const named = reader.text('session_id')
  if (named !== undefined && named !== sessionId) {
    reader.refuse('session_id', 'must be the session of the address')
  }
  const level = levels.get(reader.text('level') ?? 'info')
  if (level === undefined) {
    reader.refuse('level', 'must be one of trace, debug, info, warning, error')
  }
  const metadata = reader.any('metadata')
  const bytes = Buffer.byteLength(JSON.stringify(metadata) ?? '')
  if (bytes > maxEventMetadataBytes) {
    reader.refuse('metadata', `must not be larger than ${maxEventMetadataBytes} bytes of JSON`)
  }
  return reader.finish<SessionEventInput>(
    omitUndefined({
      source: reader.required('source', text('source'), ''),
      stream: reader.required('stream', text('stream'), ''),
      level: level ?? 'info',
      message: reader.required('message', reader.text('message'), ''),
      toolCallId: text('tool_call_id'),
      jobId: text('job_id'),
      correlationId: text('correlation_id'),
      metadata,
    }),
  )
}
