import { completeRef, type Entry } from './entry.ts'
import { firstAfter } from './entry-index.ts'
import type { FsContext } from './fs-context.ts'
import { encodeCursor, parseFilter, type Position } from './listing.ts'
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
    const ref = completeRef(shards.dirOf(entry.hex), entry)
    if (ref === null) continue
    refs.push(ref)
    bytes += entry.sidecarBytes
    validUntilMs = Math.min(validUntilMs, entry.expiresMs)
    last = entry
  }
  return { page: { refs }, validUntilMs }
}

/** The filter as a function. Throws as `parseFilter`. */
export function compileFilter(filter: ArtefactFilter): (entry: Entry) => boolean {
  const { sinceMs, wanted } = parseFilter(filter)
  return ({ createdMs, ref }) =>
    createdMs >= sinceMs && wanted.every(([member, value]) => ref[member] === value)
}
