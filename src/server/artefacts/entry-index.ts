import { ResourceUriInvalid } from '../resources/errors.ts'
import type { ArtefactRef } from './sidecar.ts'

/** What is known of a stored artefact. */
export interface Entry {
  readonly hex: string
  readonly createdMs: number
  /** Infinity: it does not expire. */
  readonly expiresMs: number
  readonly ref: ArtefactRef
  /** Of its sidecar. */
  readonly version: string
}

/** Place of an artefact in the order: newest first, equal times by hash. */
export type Position = Pick<Entry, 'createdMs' | 'hex'>

/** Beyond this many changes at once sorting anew is cheaper than inserting one by one. */
const maxSingleChanges = 32

/** The entries of a store, in order and by shard. `changes` counts up with every change. */
export class EntryIndex {
  changes = 0
  totalBytes = 0
  /** No entry expires before. */
  earliestExpiryMs = Infinity
  /** Newest first. */
  ordered: Entry[] = []
  readonly #shards = new Map<string, Map<string, Entry>>()

  get(hex: string): Entry | undefined {
    return this.shard(hex.slice(0, 2)).get(hex)
  }

  /** The entries whose hash begins with these two digits. */
  shard(name: string): ReadonlyMap<string, Entry> {
    return this.#shards.get(name) ?? new Map()
  }

  /** Adds entries, or replaces those with the same hash. */
  put(entries: readonly Entry[]): void {
    if (entries.length === 0) return
    this.remove(entries.map(({ hex }) => hex))
    this.changes++
    for (const entry of entries) {
      const name = entry.hex.slice(0, 2)
      const shard = this.#shards.get(name)
      if (shard === undefined) this.#shards.set(name, new Map([[entry.hex, entry]]))
      else shard.set(entry.hex, entry)
      this.totalBytes += entry.ref.size_bytes
      this.earliestExpiryMs = Math.min(this.earliestExpiryMs, entry.expiresMs)
    }
    if (entries.length > maxSingleChanges) {
      this.ordered = this.ordered.concat(entries).sort(compare)
    } else {
      for (const entry of entries) this.ordered.splice(this.countUpTo(entry), 0, entry)
    }
  }

  remove(hashes: readonly string[]): void {
    const gone = new Set<Entry>()
    for (const hex of hashes) {
      const entry = this.get(hex)
      if (entry === undefined) continue
      this.#shards.get(hex.slice(0, 2))?.delete(hex)
      this.totalBytes -= entry.ref.size_bytes
      gone.add(entry)
    }
    if (gone.size === 0) return
    this.changes++
    if (gone.size > maxSingleChanges) this.ordered = this.ordered.filter(each => !gone.has(each))
    else for (const entry of gone) this.ordered.splice(this.countUpTo(entry) - 1, 1)
  }

  /** Removes and returns the entries that have expired. */
  removeExpired(nowMs: number): Entry[] {
    if (nowMs < this.earliestExpiryMs) return []
    const expired = this.ordered.filter(({ expiresMs }) => expiresMs <= nowMs)
    this.remove(expired.map(({ hex }) => hex))
    this.earliestExpiryMs = Infinity
    for (const { expiresMs } of this.ordered) {
      if (expiresMs < this.earliestExpiryMs) this.earliestExpiryMs = expiresMs
    }
    return expired
  }

  /** Number of entries at or before `position`. */
  countUpTo(position: Position): number {
    let low = 0
    let high = this.ordered.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const entry = this.ordered[middle]
      if (entry !== undefined && compare(entry, position) <= 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

function compare(left: Position, right: Position): number {
  if (left.createdMs !== right.createdMs) return right.createdMs - left.createdMs
  return left.hex < right.hex ? -1 : left.hex > right.hex ? 1 : 0
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
