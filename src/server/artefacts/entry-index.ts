import type { Entry } from './entry.ts'
import type { Position } from './listing.ts'

/** Beyond this many changes at once sorting anew is cheaper than inserting one by one. */
const maxSingleInserts = 32

/** All entries of a store, in order and by shard. `version` changes with every change. */
export class EntryIndex {
  version = 0
  totalBytes = 0
  /** Lower bound of all expiry times; may be that of a removed entry. */
  earliestExpiryMs = Infinity
  #ordered: Entry[] = []
  #shards = new Map<string, Map<string, Entry>>()
  readonly #onRemove = new Set<(hex: string) => void>()

  get ordered(): readonly Entry[] {
    return this.#ordered
  }

  get(hex: string): Entry | undefined {
    return this.shard(hex.slice(0, 2))?.get(hex)
  }

  shard(name: string): ReadonlyMap<string, Entry> | undefined {
    return this.#shards.get(name)
  }

  /** Newest first. A prefix of two digits or more visits one shard only. */
  *startingWith(prefix: string): Generator<Entry> {
    const shard = () => [...(this.shard(prefix.slice(0, 2))?.values() ?? [])].sort(compare)
    for (const entry of prefix.length < 2 ? this.#ordered : shard()) {
      if (entry.hex.startsWith(prefix)) yield entry
    }
  }

  /** Called for each entry that was removed and not replaced. Returns the unsubscribe. */
  onRemove(listener: (hex: string) => void): () => void {
    this.#onRemove.add(listener)
    return () => void this.#onRemove.delete(listener)
  }

  /** Adds entries, or replaces those with the same hash. */
  put(entries: Entry[]): void {
    const replaced = entries.map(entry => entry.hex).filter(hex => this.get(hex) !== undefined)
    this.#drop(replaced)
    for (const entry of entries) {
      const name = entry.hex.slice(0, 2)
      const shard = this.#shards.get(name)
      if (shard === undefined) this.#shards.set(name, new Map([[entry.hex, entry]]))
      else shard.set(entry.hex, entry)
      this.totalBytes += entry.bytes
      this.earliestExpiryMs = Math.min(this.earliestExpiryMs, entry.expiresMs)
      if (entries.length <= maxSingleInserts) {
        this.#ordered.splice(firstAfter(this.#ordered, entry), 0, entry)
      }
    }
    if (entries.length > maxSingleInserts) {
      this.#ordered = this.#ordered.concat(entries).sort(compare)
    }
    if (entries.length > 0) this.version++
  }

  /** Looks at every entry. */
  findEarliestExpiry(): void {
    this.earliestExpiryMs = Infinity
    for (const { expiresMs } of this.#ordered) {
      if (expiresMs < this.earliestExpiryMs) this.earliestExpiryMs = expiresMs
    }
  }

  remove(hashes: string[]): void {
    for (const { hex } of this.#drop(hashes)) {
      for (const listener of this.#onRemove) listener(hex)
    }
  }

  #drop(hashes: string[]): ReadonlySet<Entry> {
    const gone = new Set<Entry>()
    for (const hex of hashes) {
      const entry = this.get(hex)
      if (entry === undefined) continue
      this.#shards.get(hex.slice(0, 2))?.delete(hex)
      this.totalBytes -= entry.bytes
      gone.add(entry)
    }
    if (gone.size === 0) return gone
    this.version++
    if (gone.size > maxSingleInserts) {
      this.#ordered = this.#ordered.filter(entry => !gone.has(entry))
      return gone
    }
    for (const entry of gone) this.#ordered.splice(firstAfter(this.#ordered, entry) - 1, 1)
    return gone
  }
}

function compare(left: Position, right: Position): number {
  if (left.createdMs !== right.createdMs) return right.createdMs - left.createdMs
  return left.hex < right.hex ? -1 : left.hex > right.hex ? 1 : 0
}

/** Number of entries at or before `position`. */
export function firstAfter(ordered: readonly Position[], position: Position): number {
  let low = 0
  let high = ordered.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const entry = ordered[middle]
    if (entry !== undefined && compare(entry, position) <= 0) low = middle + 1
    else high = middle
  }
  return low
}
