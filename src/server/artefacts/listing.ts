import { ServiceError } from '../../lib/util/errors.ts'
import { findUnknownMember, membersOf } from '../../lib/util/members.ts'
import { ResourceUriInvalid } from '../resources/errors.ts'
import type { Position } from './entry-index.ts'
import { timeMsOf } from './put-options.ts'
import type { ArtefactRef } from './sidecar.ts'

/** Which artefacts are meant: every given member must be equal. */
export interface ArtefactFilter {
  mime?: string
  sessionId?: string
  toolCallId?: string
  jobId?: string
  correlationId?: string
  /** RFC 3339 or `Date`: only artefacts created at or after it. */
  createdSince?: Date | string
}

/** A cursor names the last entry seen, so it stays good when entries come and go. */
export function encodeCursor(position: Position): string {
  return Buffer.from(`${position.createdMs}.${position.hex}`).toString('base64url')
}

export function parseCursor(cursor: string): Position {
  const form = /^(-?\d{1,16})\.([0-9a-f]{64})$/
  const text = cursor.length > 128 ? '' : Buffer.from(cursor, 'base64url').toString('latin1')
  const [, createdMs, hex] = form.exec(text) ?? []
  if (createdMs === undefined || hex === undefined) {
    throw new ResourceUriInvalid('the cursor is not one of this listing')
  }
  return { createdMs: Number(createdMs), hex }
}

const known = membersOf<ArtefactFilter>({
  mime: true,
  sessionId: true,
  toolCallId: true,
  jobId: true,
  correlationId: true,
  createdSince: true,
})

/** The filter as a function. Throws `body_invalid` for an unknown member and an invalid time. */
export function compileFilter(filter: ArtefactFilter): (ref: ArtefactRef) => boolean {
  const unknown = findUnknownMember(filter, known, 'artefact filter')
  if (unknown !== null) throw new ServiceError('body_invalid', unknown)
  const { mime, sessionId, toolCallId, jobId, correlationId, createdSince } = filter
  const sinceMs = createdSince === undefined ? -Infinity : timeMsOf(createdSince)
  if (sinceMs === null) {
    const message = 'artefact filter createdSince must be a time such as 2030-01-31T12:00:00Z'
    throw new ServiceError('body_invalid', message)
  }
  const matches = (wanted: string | undefined, found: string | null) =>
    wanted === undefined || wanted === found
  return ref =>
    Date.parse(ref.created_at) >= sinceMs &&
    matches(mime, ref.mime) &&
    matches(sessionId, ref.session_id) &&
    matches(toolCallId, ref.tool_call_id) &&
    matches(jobId, ref.job_id) &&
    matches(correlationId, ref.correlation_id)
}
