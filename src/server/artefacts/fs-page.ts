import { ServiceError } from '../../lib/util/errors.ts'
import { findUnknownMember, membersOf } from '../../lib/util/members.ts'
import { completeRef, type Entry } from './entry.ts'
import { encodeCursor, firstAfter, type Position } from './entry-index.ts'
import type { FsContext } from './fs-context.ts'
import { timeMsOf } from './put-options.ts'
import type { ArtefactFilter, ArtefactPage, ArtefactRef } from './store.ts'

interface ReadPage {
  readonly page: ArtefactPage
  /** When the first artefact on the page expires; Infinity when none does. */
  readonly validUntilMs: number
}

/** Up to `limit` unexpired artefacts after `position`, fewer when their sidecars are large. */
export function readPage(
  store: FsContext,
  position: Position | null,
  limit: number,
  matches: (entry: Entry) => boolean,
): ReadPage {
  const { index, limits, clock, shards } = store
  const { ordered } = index
  const now = clock.now()
  const refs: ArtefactRef[] = []
  let bytes = 0
  let validUntilMs = Infinity
  let last: Entry | undefined
  for (let at = position === null ? 0 : firstAfter(ordered, position); at < ordered.length; at++) {
    const entry = ordered[at]
    if (entry === undefined || entry.expiresMs <= now || !matches(entry)) continue
    const isFull = refs.length >= limit || bytes + entry.sidecarBytes > limits.maxArtefactPageBytes
    if (isFull && last !== undefined) {
      return { page: { refs, next: encodeCursor(last) }, validUntilMs }
    }
    const ref = completeRef(shards.dirOf(entry.hex), entry, limits)
    if (ref === null) continue
    refs.push(ref)
    bytes += entry.sidecarBytes
    validUntilMs = Math.min(validUntilMs, entry.expiresMs)
    last = entry
  }
  return { page: { refs }, validUntilMs }
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
export function compileFilter(filter: ArtefactFilter): (entry: Entry) => boolean {
  const unknown = findUnknownMember(filter, known, 'artefact filter')
  if (unknown !== null) throw new ServiceError('body_invalid', unknown)
  const since = sinceOf(filter.createdSince)
  const wanted = [
    ['mime', filter.mime],
    ['session_id', filter.sessionId],
    ['tool_call_id', filter.toolCallId],
    ['job_id', filter.jobId],
    ['correlation_id', filter.correlationId],
  ] as const
  const set = wanted.filter(([, value]) => value !== undefined)
  return entry =>
    entry.createdMs >= since && set.every(([member, value]) => entry.ref[member] === value)
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
