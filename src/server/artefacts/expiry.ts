import type { ArtefactLimits } from './limits.ts'
import { toRfc3339 } from '../../lib/util/time.ts'
import type { ArtefactRef } from './store.ts'

/** A bound of 0 is switched off. */
export function boundOf(limit: number): number {
  return limit === 0 ? Infinity : limit
}

/** One artefact may not be larger than all of them together. */
export function maxBodyBytes(
  limits: Pick<ArtefactLimits, 'maxArtefactBytes' | 'maxArtefactTotalBytes'>,
): number {
  return Math.min(boundOf(limits.maxArtefactBytes), boundOf(limits.maxArtefactTotalBytes))
}

/** Milliseconds since the epoch from which the artefact is no longer served. */
export function expiryMs(ref: Pick<ArtefactRef, 'created_at' | 'expires_at'>, ttlMs: number) {
  if (ref.expires_at !== null) return Date.parse(ref.expires_at)
  return Date.parse(ref.created_at) + boundOf(ttlMs)
}

/**
 * `expires_at` after the same bytes were stored again: the later one of the two, so that no
 * producer shortens what another one was promised. Null stands for the store's time to live.
 */
export function laterExpiry(
  previous: ArtefactRef,
  next: Pick<ArtefactRef, 'created_at' | 'expires_at'>,
  ttlMs: number,
): string | null {
  const before = expiryMs(previous, ttlMs)
  if (before <= expiryMs(next, ttlMs)) return next.expires_at
  return Number.isFinite(before) ? toRfc3339(before) : null
}

interface Evictable {
  readonly hex: string
  readonly bytes: number
}

/**
 * The oldest entries that must go so that the rest fits. `newestFirst` is in index order, and may
 * have the oldest entries alone; `total` is of all.
 */
export function selectEvictions<Entry extends Evictable>(
  newestFirst: readonly Entry[],
  total: { readonly bytes: number; readonly count: number },
  bounds: { readonly maxBytes: number; readonly maxEntries: number },
  keep: string | null = null,
): Entry[] {
  const chosen: Entry[] = []
  let bytes = total.bytes
  let count = total.count
  for (let at = newestFirst.length - 1; at >= 0; at--) {
    if (bytes <= bounds.maxBytes && count <= bounds.maxEntries) break
    const entry = newestFirst[at]
    if (entry === undefined || entry.hex === keep) continue
    chosen.push(entry)
    bytes -= entry.bytes
    count--
  }
  return chosen
}
