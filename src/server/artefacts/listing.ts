import { ServiceError } from '../../lib/util/errors.ts'
import { findUnknownMember, membersOf } from '../../lib/util/members.ts'
import { ResourceUriInvalid } from '../resources/errors.ts'
import { timeMsOf } from './put-options.ts'
import type { ArtefactFilter, ArtefactPage } from './store.ts'

/** Place of an artefact in the order: newest first, equal times by hash. */
export interface Position {
  readonly createdMs: number
  readonly hex: string
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

/** A filter in the terms of what is stored. */
export interface ParsedFilter {
  /** Milliseconds; -Infinity when the filter has no time. */
  readonly sinceMs: number
  readonly wanted: readonly (readonly [member: FilterMember, value: string])[]
}

type FilterMember = 'mime' | 'session_id' | 'tool_call_id' | 'job_id' | 'correlation_id'

/** Throws `body_invalid` for an unknown member and an invalid time. */
export function parseFilter(filter: ArtefactFilter): ParsedFilter {
  const unknown = findUnknownMember(filter, known, 'artefact filter')
  if (unknown !== null) throw new ServiceError('body_invalid', unknown)
  const members = [
    ['mime', filter.mime],
    ['session_id', filter.sessionId],
    ['tool_call_id', filter.toolCallId],
    ['job_id', filter.jobId],
    ['correlation_id', filter.correlationId],
  ] as const
  return {
    sinceMs: sinceOf(filter.createdSince),
    wanted: members.flatMap(([member, value]) =>
      value === undefined ? [] : [[member, value] as const],
    ),
  }
}

function sinceOf(value: Date | string | undefined): number {
  if (value === undefined) return -Infinity
  const time = timeMsOf(value)
  if (time !== null) return time
  const message = 'artefact filter createdSince must be a time such as 2030-01-31T12:00:00Z'
  throw new ServiceError('body_invalid', message)
}

interface Remembered {
  readonly page: ArtefactPage
  readonly version: number
  readonly validUntilMs: number
}

const maxPages = 8

/** The pages given out last: right for as long as the index stays as it is and nothing on them expires. */
export class PageMemory {
  readonly #pages = new Map<string, Remembered>()

  get(after: string | undefined, limit: number, version: number, nowMs: number) {
    const known = this.#pages.get(key(after, limit))
    const isRight = known?.version === version && nowMs < known.validUntilMs
    return isRight ? known.page : null
  }

  /** `validUntilMs`: when the first artefact on the page expires. */
  set(
    after: string | undefined,
    limit: number,
    version: number,
    page: ArtefactPage,
    validUntilMs: number,
  ): void {
    if (this.#pages.size >= maxPages) this.#pages.clear()
    this.#pages.set(key(after, limit), { page, version, validUntilMs })
  }
}

function key(after: string | undefined, limit: number): string {
  return `${limit} ${after ?? ''}`
}
