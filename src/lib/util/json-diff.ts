import { numberOf } from './exact-json.ts'
import { escapePointer, isJsonObject } from './json.ts'

/** One step from one JSON value to another; steps are applied in their order. */
export type JsonChange =
  | { readonly path: string; readonly kind: 'added'; readonly after: unknown }
  | { readonly path: string; readonly kind: 'removed'; readonly before: unknown }
  | {
      readonly path: string
      readonly kind: 'changed'
      readonly before: unknown
      readonly after: unknown
    }

interface JsonDiff {
  readonly changes: readonly JsonChange[]
  /** There were more changes than allowed; those listed are the first ones. */
  readonly truncated: boolean
}

/**
 * The steps that lead from `before` to `after`. Each `path` is a JSON pointer into the value as
 * the steps before it left it, so they are a JSON Patch under other names: `removed` = remove,
 * `added` = add, `changed` = replace.
 *
 * Arrays, the first rule that fits:
 * 1. Every element of both is an object with an `id` (string or number), unique in its array,
 *    and the ids present in both come in the same order: aligned on `id`. Removals come
 *    first, from the end (indices of the old array), then additions and changes from the start
 *    (indices of the new array).
 * 2. Up to 16 numbers, as of a position or matrix: one `changed` for the whole array.
 * 3. Same length: compared position by position.
 * 4. Otherwise one `changed` for the whole array.
 *
 * Time and memory are linear in the size of the two values.
 */
export function diffJson(before: unknown, after: unknown, maxChanges: number): JsonDiff {
  const collector = new Collector(maxChanges)
  diffValue('', before, after, collector)
  return { changes: collector.changes, truncated: collector.full }
}

class Collector {
  readonly changes: JsonChange[] = []
  /** A change was refused: nothing more is looked for. */
  full = false
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  add(change: JsonChange): void {
    if (this.changes.length < this.#max) this.changes.push(change)
    else this.full = true
  }
}

function diffValue(path: string, before: unknown, after: unknown, into: Collector): void {
  if (before === after || into.full) return
  if (Array.isArray(before) && Array.isArray(after)) diffArray(path, before, after, into)
  else if (isJsonObject(before) && isJsonObject(after)) diffObject(path, before, after, into)
  else into.add({ path, kind: 'changed', before, after })
}

type Members = Readonly<Record<string, unknown>>

function diffObject(path: string, before: Members, after: Members, into: Collector): void {
  for (const name of Object.keys(before)) {
    if (into.full) return
    if (Object.hasOwn(after, name)) continue
    into.add({ path: `${path}/${escapePointer(name)}`, kind: 'removed', before: before[name] })
  }
  for (const name of Object.keys(after)) {
    if (into.full) return
    // Most members are equal: the pointer is built only for those that may not be.
    if (isSame(before[name], after[name])) continue
    const at = `${path}/${escapePointer(name)}`
    if (Object.hasOwn(before, name)) diffValue(at, before[name], after[name], into)
    else into.add({ path: at, kind: 'added', after: after[name] })
  }
}

type Items = readonly unknown[]

function diffArray(path: string, before: Items, after: Items, into: Collector): void {
  if (isSameArray(before, after, vectorLevels)) return
  // As the first two rules would have it, without a table of ids.
  if (haveSameIds(before, after)) return diffPositions(path, before, after, into)
  const oldIds = identities(before)
  const newIds = oldIds && identities(after)
  if (oldIds && newIds && keepsOrder(oldIds, newIds)) {
    diffAligned(path, before, after, oldIds, newIds, into)
  } else if (before.length === after.length && !(isVector(before) && isVector(after))) {
    diffPositions(path, before, after, into)
  } else {
    into.add({ path, kind: 'changed', before, after })
  }
}

function diffPositions(path: string, before: Items, after: Items, into: Collector): void {
  for (let at = 0; at < after.length && !into.full; at++) {
    diffValue(`${path}/${at}`, before[at], after[at], into)
  }
}

function haveSameIds(before: Items, after: Items): boolean {
  if (before.length !== after.length) return false
  return before.every((old, at) => {
    const now = after[at]
    return isJsonObject(old) && isJsonObject(now) && old.id === now.id
  })
}

const maxVector = 16

/** A short list of numbers: a position, a colour, a matrix. */
export function isVector(value: unknown): value is readonly number[] {
  const isShort = Array.isArray(value) && value.length <= maxVector
  return isShort && value.every(each => numberOf(each) !== undefined)
}

/** A matrix is a list of vectors. */
const vectorLevels = 1

function isSame(before: unknown, after: unknown): boolean {
  if (before === after) return true
  return Array.isArray(before) && Array.isArray(after) && isSameArray(before, after, vectorLevels)
}

/** False where it cannot be told at once: for objects, and deeper levels. */
function isSameArray(before: Items, after: Items, levels: number): boolean {
  if (before.length !== after.length) return false
  for (let at = 0; at < after.length; at++) {
    const [old, now] = [before[at], after[at]]
    if (old === now) continue
    const isDeeper = levels > 0 && Array.isArray(old) && Array.isArray(now)
    if (!isDeeper || !isSameArray(old, now, levels - 1)) return false
  }
  return true
}

type Id = string | number

function diffAligned(
  path: string,
  before: Items,
  after: Items,
  oldIds: Map<Id, number>,
  newIds: Map<Id, number>,
  into: Collector,
): void {
  for (const [id, at] of [...oldIds].reverse()) {
    if (into.full) return
    if (!newIds.has(id)) into.add({ path: `${path}/${at}`, kind: 'removed', before: before[at] })
  }
  for (const [id, at] of newIds) {
    if (into.full) return
    const oldAt = oldIds.get(id)
    if (oldAt === undefined) into.add({ path: `${path}/${at}`, kind: 'added', after: after[at] })
    else diffValue(`${path}/${at}`, before[oldAt], after[at], into)
  }
}

/** Id → index in array order, or null when the array cannot be aligned. */
function identities(items: Items): Map<Id, number> | null {
  if (items.length > 0 && !isJsonObject(items[0])) return null
  const ids = new Map<Id, number>()
  for (const [at, item] of items.entries()) {
    if (!isJsonObject(item) || !Object.hasOwn(item, 'id')) return null
    const id = item['id']
    if ((typeof id !== 'string' && typeof id !== 'number') || ids.has(id)) return null
    ids.set(id, at)
  }
  return ids
}

function keepsOrder(oldIds: Map<Id, number>, newIds: Map<Id, number>): boolean {
  let last = -1
  for (const id of newIds.keys()) {
    const at = oldIds.get(id)
    if (at === undefined) continue
    if (at < last) return false
    last = at
  }
  return true
}
