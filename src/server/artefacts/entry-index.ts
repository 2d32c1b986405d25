import { ResourceUriInvalid } from '../resources/errors.ts'
import type { ArtefactRef } from './sidecar.ts'

/** What is known of a stored artefact. */
export interface ArtefactEntry {
  readonly hex: string
  readonly createdMs: number
  /** Infinity: it does not expire. */
  readonly expiresMs: number
  readonly ref: ArtefactRef
  /** Of its sidecar. */
  readonly version: string
}

/** Place of an artefact in the order: newest first, equal times by hash. */
type Position = Pick<ArtefactEntry, 'createdMs' | 'hex'>

export interface ArtefactPage {
  /** Newest first. */
  readonly refs: readonly ArtefactRef[]
  /** Opaque position of the next page; absent on the last one. */
  readonly next?: string | undefined
}

/** Pages of an unchanged index that are kept. */
const maxPages = 8

/** The entries of a store, in order and by shard. `changes` counts up with every change. */
export class EntryIndex {
  changes = 0
  totalBytes = 0
  /** Newest first. */
  ordered: readonly ArtefactEntry[] = []
  #earliestExpiryMs: number | null = null
  readonly #shards = new Map<string, Map<string, ArtefactEntry>>()
  readonly #pages = new Map<string, ArtefactPage>()

  get(hex: string): ArtefactEntry | undefined {
    return this.shard(hex.slice(0, 2)).get(hex)
  }

  /** The entries whose hash begins with these two digits. */
  shard(name: string): ReadonlyMap<string, ArtefactEntry> {
    return this.#shards.get(name) ?? new Map()
  }

  /** No entry expires before. */
  get earliestExpiryMs(): number {
    this.#earliestExpiryMs ??= this.ordered.reduce(
      (earliest, { expiresMs }) => Math.min(earliest, expiresMs),
      Infinity,
    )
    return this.#earliestExpiryMs
  }

  /** Adds entries, or replaces those with the same hash. */
  put(entries: readonly ArtefactEntry[]): void {
    if (entries.length === 0) return
    this.remove(entries.map(({ hex }) => hex))
    for (const entry of entries) {
      const name = entry.hex.slice(0, 2)
      this.#shards.set(name, (this.#shards.get(name) ?? new Map()).set(entry.hex, entry))
      this.totalBytes += entry.ref.size_bytes
    }
    const [first] = entries
    if (entries.length > 1 || first === undefined) {
      this.ordered = [...entries, ...this.ordered].sort(compare)
    } else {
      // Found at once when it is the newest.
      const at = this.ordered.findIndex(each => compare(each, first) > 0)
      this.ordered = this.ordered.toSpliced(at < 0 ? this.ordered.length : at, 0, first)
    }
    this.#changed()
  }

  remove(hashes: readonly string[]): void {
    const gone = new Set<ArtefactEntry>()
    for (const hex of hashes) {
      const entry = this.get(hex)
      if (entry === undefined) continue
      this.#shards.get(hex.slice(0, 2))?.delete(hex)
      this.totalBytes -= entry.ref.size_bytes
      gone.add(entry)
    }
    if (gone.size === 0) return
    this.ordered = this.ordered.filter(entry => !gone.has(entry))
    this.#changed()
  }

  /** Up to `limit` artefacts after the cursor `after`. The identical page until something changes. */
  page(after: string | undefined, limit: number): ArtefactPage {
    const position = after === undefined ? null : parseCursor(after)
    const key = `${limit} ${after ?? ''}`
    const known = this.#pages.get(key)
    if (known !== undefined) return known
    const rest =
      position === null ? this.ordered : this.ordered.filter(entry => compare(entry, position) > 0)
    const entries = rest.slice(0, limit)
    const last = entries.at(-1)
    const next = last && rest.length > limit ? encodeCursor(last) : undefined
    const page = { refs: entries.map(({ ref }) => ref), next }
    if (this.#pages.size >= maxPages) this.#pages.clear()
    this.#pages.set(key, page)
    return page
  }

  #changed(): void {
    this.changes++
    this.#earliestExpiryMs = null
    this.#pages.clear()
  }
}

function compare(left: Position, right: Position): number {
  if (left.createdMs !== right.createdMs) return right.createdMs - left.createdMs
  return left.hex < right.hex ? -1 : left.hex > right.hex ? 1 : 0
}

/** A cursor names the last entry seen, so it stays good when entries come and go. */
function encodeCursor(position: Position): string {
  return Buffer.from(`${position.createdMs}.${position.hex}`).toString('base64url')
}

function parseCursor(cursor: string): Position {
  const text = Buffer.from(cursor, 'base64url').toString('latin1')
  const [, createdMs, hex] = /^(-?\d{1,16})\.([0-9a-f]{64})$/.exec(text) ?? []
  if (createdMs === undefined || hex === undefined) {
    throw new ResourceUriInvalid('the cursor is not one of this listing')
  }
  return { createdMs: Number(createdMs), hex }
}
