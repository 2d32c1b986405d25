import { digitsOf, type ExactNumber, numberOf } from './exact-json.ts'
import { escapePointer, isJsonObject, type JsonObject } from './json.ts'
import { asText } from './text.ts'

/** One difference between two JSON values. */
export interface JsonChange {
  /** Pointer into the new value. An item that left a list ends with its place in the old list. */
  readonly path: string
  /** `omitted` and `listed`: an object is left out of its list now, or no longer. */
  readonly kind: 'added' | 'removed' | 'changed' | 'omitted' | 'listed'
  readonly before?: unknown
  readonly after?: unknown
  /** Of the object in a list that the change is in; its `uuid` where it has no `id`. */
  readonly id?: unknown
  readonly name?: unknown
  /** The way from that object, with names for places. Absent: `path` from its third part on. */
  readonly member?: readonly string[]
  /** Objects without an identity of their own were compared by their places. */
  readonly matched?: 'position'
}

export interface JsonDifferences {
  readonly changes: readonly JsonChange[]
  /** There are more changes than are listed. */
  readonly truncated: boolean
  /** Of all changes: how many objects of each type by kind, and how many `settings` in no list. */
  readonly summary: Readonly<Record<string, Readonly<Record<string, number>>>>
}

interface DiffOptions {
  readonly maxChanges: number
  /** Objects that both lists `objects` have and that are left out because they are equal. */
  readonly others?: () => readonly JsonObject[]
  /** Whether an item that left `objects` or joined it is left out of the other list. */
  readonly isOmitted?: (kind: 'added' | 'removed', item: JsonObject) => boolean
}

/**
 * What differs between two JSON values; linear in their size.
 *
 * - Objects in lists are matched as `matchObjects` says. Their order is no change.
 * - Up to 16 numbers, as of a position, and lists of texts: one change for the whole list.
 * - Other lists of one length are compared place by place, else as a whole.
 * - Numbers are equal when their digits are: 1 and 1.0.
 */
export function diffJson(before: unknown, after: unknown, options: DiffOptions): JsonDifferences {
  const diff = new Diff(options)
  diff.compare({ parent: null, key: '' }, before, after)
  return diff
}

/** A member or item on the way to a difference. */
interface Place {
  readonly parent: Place | null
  readonly key: string | number
  /** The object, when it is an item of a list of objects. */
  readonly item?: JsonObject
  readonly isUnsure?: boolean
  isCounted?: boolean
}

/** Items of these lists stand for themselves, wherever the list is; '' is the whole value. */
export const objectLists: ReadonlySet<unknown> = new Set(['objects', 'nodes', 'children', ''])
/** Further ones are counted together. */
const maxTypes = 50

class Diff implements JsonDifferences {
  readonly changes: JsonChange[] = []
  truncated = false
  readonly summary: Record<string, Record<string, number>> = {}
  readonly #options: DiffOptions

  constructor(options: DiffOptions) {
    this.#options = options
  }

  /** Undefined: there is none. */
  compare(place: Place, before: unknown, after: unknown): void {
    if (isSame(before, after)) return
    const [old, now] = [objectsIn(before), objectsIn(after)]
    if (old !== null && now !== null && old.length + now.length > 0) {
      this.#compareItems(place, old, now)
    } else if (isJsonObject(before) && isJsonObject(after)) {
      this.#compareMembers(place, before, after)
    } else if (isLong(before) && isLong(after) && before.length === after.length) {
      for (const [at, each] of after.entries()) {
        this.compare({ parent: place, key: at }, before[at], each)
      }
    } else {
      const kind = before === undefined ? 'added' : after === undefined ? 'removed' : 'changed'
      this.#add(place, kind, before, after)
    }
  }

  #compareMembers(place: Place, before: JsonObject, after: JsonObject): void {
    const gone = Object.keys(before).filter(name => !Object.hasOwn(after, name))
    for (const name of [...gone, ...Object.keys(after)]) {
      // Most members are equal. `uid` says which object it is, and nothing about it.
      if (isSame(before[name], after[name]) || (name === 'uid' && place.item)) continue
      const [old, now] = [before, after].map(each =>
        Object.hasOwn(each, name) ? each[name] : undefined,
      )
      this.compare({ parent: place, key: name }, old, now)
    }
  }

  #compareItems(list: Place, before: readonly JsonObject[], after: readonly JsonObject[]): void {
    if (areAligned(before, after)) {
      for (const [key, item] of after.entries()) {
        this.#compareMembers({ parent: list, key, item }, before[key]!, item)
      }
      return
    }
    const isOfScene = list.key === 'objects' && list.parent?.parent === null
    const { others = () => [], isOmitted = () => false } = isOfScene ? this.#options : {}
    const { partners, unsure } = matchObjects(before, after, others)
    const stayed = new Set(partners.values())
    const placeOf = (key: number, item: JsonObject): Place => {
      return { parent: list, key, item, isUnsure: unsure.has(item) }
    }
    for (const [at, old] of before.entries()) {
      if (stayed.has(old)) continue
      this.#add(placeOf(at, old), isOmitted('removed', old) ? 'omitted' : 'removed', old, undefined)
    }
    for (const [at, now] of after.entries()) {
      const old = partners.get(now)
      if (old !== undefined) this.#compareMembers(placeOf(at, now), old, now)
      else this.#add(placeOf(at, now), isOmitted('added', now) ? 'listed' : 'added', undefined, now)
    }
  }

  #add(place: Place, kind: JsonChange['kind'], before: unknown, after: unknown): void {
    const way: Place[] = []
    for (let each = place; each.parent !== null; each = each.parent) way.unshift(each)
    const path = way.map(({ key }) => `/${escapePointer(String(key))}`).join('')
    const isItem = (each: Place) =>
      each.item !== undefined && (each === place || labelOf(each.item) !== null)
    const innermost = way.findLastIndex(each => isItem(each) && objectLists.has(each.parent?.key))
    const depth = innermost === -1 ? way.findIndex(isItem) : innermost
    const holder = way[depth]
    if (holder === undefined) this.#count('settings', way[0]?.key)
    else if (!holder.isCounted) {
      holder.isCounted = true
      this.#count(holder === place ? kind : 'changed', holder.item?.type ?? holder.parent?.key)
    }
    if (this.changes.length === this.#options.maxChanges) {
      this.truncated = true
      return
    }
    const change: { -readonly [Member in keyof JsonChange]: JsonChange[Member] } = { path, kind }
    if (before !== undefined) change.before = before
    if (after !== undefined) change.after = after
    if (holder?.item !== undefined && holder !== place) {
      const { uuid, id = uuid, name } = holder.item
      if (id !== undefined) change.id = id
      if (name !== undefined) change.name = name
      const rest = way.slice(depth + 1)
      const member = rest.map(({ key, item }) => (item && labelOf(item)) ?? String(key))
      const isPlain = depth === 1 && rest.every(({ key }, at) => String(key) === member[at])
      if (!isPlain) change.member = member
    }
    if (way.some(({ isUnsure }) => isUnsure)) change.matched = 'position'
    this.changes.push(change)
  }

  #count(kind: string, type: unknown): void {
    const counts = (this.summary[kind] ??= {})
    const isKnown = Object.hasOwn(counts, asText(type)) || Object.keys(counts).length < maxTypes
    const name = isKnown ? asText(type) : 'other'
    counts[name] = (counts[name] ?? 0) + 1
  }
}

/** What people call an object: its name, else its `id` or `uuid`; null: it has none of them. */
export function labelOf({ name, id, uuid }: JsonObject): string | null {
  const label = [name, id, uuid].find(each => keyOf(each) !== null)
  return label === undefined ? null : asText(label)
}

/** The list, when all its items are objects; else null. Nothing is an empty list. */
function objectsIn(list: unknown = []): readonly JsonObject[] | null {
  return Array.isArray(list) && list.every(isJsonObject) ? list : null
}

const maxVector = 16
const maxTexts = 1000

/** A short list of numbers: a position, a colour, a matrix. */
export function isVector(value: unknown): value is readonly (number | ExactNumber)[] {
  const isShort = Array.isArray(value) && value.length <= maxVector
  return isShort && value.every(each => numberOf(each) !== undefined)
}

/** A list that is not one value, as a vector or a list of names is. */
function isLong(value: unknown): value is readonly unknown[] {
  if (!Array.isArray(value)) return false
  const isNames = value.length <= maxTexts && value.every(each => typeof each === 'string')
  return !isNames && !isVector(value)
}

/** A matrix is a list of vectors. */
const vectorLevels = 1

/** False where it cannot be told at once: for objects, and deeper levels. */
function isSame(before: unknown, after: unknown, levels = vectorLevels): boolean {
  if (before === after) return true
  if (Array.isArray(before) && Array.isArray(after)) {
    const isLikely = before.length === after.length && levels >= 0
    return isLikely && before.every((each, at) => isSame(each, after[at], levels - 1))
  }
  const isExact = JSON.isRawJSON(before) || JSON.isRawJSON(after)
  return isExact && digitsOf(before) !== null && digitsOf(before) === digitsOf(after)
}

/** As most lists are: the same objects in the same order. */
function areAligned(before: readonly JsonObject[], after: readonly JsonObject[]): boolean {
  if (before.length !== after.length) return false
  const isSameObject = ({ id, uid, uuid }: JsonObject, at: number) =>
    keyOf(id) !== null && id === after[at]!.id && uid === after[at]!.uid && uuid === after[at]!.uuid
  return before.every(isSameObject) && new Set(before.map(({ id }) => id)).size === before.length
}

type Key = string | number
type KeyOf = (item: JsonObject) => Key | null

interface Matched {
  /** What items of the new list were in the old one. */
  readonly partners: ReadonlyMap<JsonObject, JsonObject>
  /** Items that may be other ones: they were matched by their places. */
  readonly unsure: ReadonlySet<JsonObject>
}

/**
 * Matches objects by the first of these that one of each list has alone: `uid`, `id`, `uuid`,
 * `name`. The rest place by place: those with one identity among themselves, and those without
 * any. Objects with different uids of one run of the application are two.
 */
function matchObjects(
  before: readonly JsonObject[],
  after: readonly JsonObject[],
  others: () => readonly JsonObject[],
): Matched {
  const partners = new Map<JsonObject, JsonObject>()
  const unsure = new Set<JsonObject>()
  let [old, now] = [before, after]
  let isOneRun: boolean | undefined
  /** Uids of another run say nothing: then no object has the same one. */
  const areTwo = (one: JsonObject, other: JsonObject): boolean => {
    const [a, b] = [keyOf(one.uid), keyOf(other.uid)]
    if (a === null || b === null || a === b) return false
    isOneRun ??= haveCommonUid(before, after) || others().some(({ uid }) => keyOf(uid) !== null)
    return isOneRun
  }
  const matchBy = (key: KeyOf, isSure: (key: Key) => boolean = () => true): void => {
    if (old.length === 0 || now.length === 0) return
    const olds = Map.groupBy(old, key)
    for (const [own, [item, ...more]] of Map.groupBy(now, key)) {
      const [partner, ...further] = olds.get(own) ?? []
      const isAlone = item && partner && more.length + further.length === 0
      if (isAlone && own !== null && isSure(own) && !areTwo(item, partner))
        partners.set(item, partner)
    }
    const taken = new Set(partners.values())
    old = old.filter(each => !taken.has(each))
    now = now.filter(each => !partners.has(each))
  }
  matchBy(({ id, uid, uuid }) => keyOf(id) && JSON.stringify([id, uid, uuid].map(keyOf)))
  matchBy(({ uid }) => keyOf(uid))
  matchBy(({ id }) => keyOf(id))
  matchBy(({ uuid }) => keyOf(uuid))
  const nameKey: KeyOf = ({ name }) => keyOf(name)
  let named: readonly ReadonlyMap<Key | null, readonly unknown[]>[] | undefined
  matchBy(nameKey, name => {
    named ??= [before, after].map(list => Map.groupBy([...list, ...others()], nameKey))
    return named.every(items => items.get(name)?.length === 1)
  })
  const olds = Map.groupBy(old, identityOf)
  for (const [identity, nows] of Map.groupBy(now, identityOf)) {
    const same = olds.get(identity) ?? []
    for (const item of same.length === 0 ? [] : [...same, ...nows]) unsure.add(item)
    for (const [at, partner] of same.entries()) {
      const item = nows[at]
      if (item !== undefined && !areTwo(item, partner)) partners.set(item, partner)
    }
  }
  return { partners, unsure }
}

/** A text, or a number by its digits; null for anything else. */
function keyOf(value: unknown): Key | null {
  if (typeof value === 'string') return value === '' ? null : value
  const number = numberOf(value)
  if (number === undefined || typeof value === 'number') return number ?? null
  const digits = digitsOf(value)
  return digitsOf(number) === digits ? number : `\0${digits}`
}

function haveCommonUid(before: readonly JsonObject[], after: readonly JsonObject[]): boolean {
  const uids = new Set(before.map(({ uid }) => keyOf(uid)))
  return after.some(({ uid }) => keyOf(uid) !== null && uids.has(keyOf(uid)))
}

/** The same text for all without an identity. */
function identityOf({ id, uuid, name, uid }: JsonObject): string {
  const keys = [id, uuid, name, uid].map(keyOf)
  const at = keys.findIndex(key => key !== null)
  return JSON.stringify([at, keys[at]])
}
