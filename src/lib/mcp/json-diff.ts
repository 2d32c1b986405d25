import { digitsOf, type ExactNumber, numberOf } from '../util/exact-json.ts'
import { arrayOf, escapePointer, isJsonObject, type JsonObject } from '../util/json.ts'
import { asText } from '../util/text.ts'

/** One difference between two JSON values. */
export interface JsonChange {
  /** Pointer into the new value. An item that left a list ends with its place in the old list. */
  readonly path: string
  /** `omitted` and `listed`: an object is left out of its list now, or no longer. */
  readonly kind: 'added' | 'removed' | 'changed' | 'omitted' | 'listed'
  readonly before?: unknown
  readonly after?: unknown
  /** Of the object in a list that changed, came or left; its `uuid` where it has no `id`. */
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
 * - Objects in lists are matched as `matchObjects` says, also beside other items. Their order is no
 *   change.
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

  /** `undefined` stands for a missing value. */
  compare(place: Place, before: unknown, after: unknown): void {
    if (isSame(before, after)) return
    if (haveObjects(before, after)) {
      this.#compareItems(place, arrayOf(before), arrayOf(after))
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

  #compareItems(list: Place, before: readonly unknown[], after: readonly unknown[]): void {
    const [oldPlaces, places] = [objectsIn(before), objectsIn(after)]
    const [olds, nows] = [[...oldPlaces.keys()], [...places.keys()]]
    const isMixed = olds.length < before.length || nows.length < after.length
    if (!isMixed && areAligned(olds, nows)) {
      for (const [key, item] of nows.entries()) {
        this.#compareMembers({ parent: list, key, item }, olds[key]!, item)
      }
      return
    }
    const isOfScene = list.key === 'objects' && list.parent?.parent === null
    const { others = () => [], isOmitted = () => false } = isOfScene ? this.#options : {}
    const { partners, unsure } = matchObjects(olds, nows, others)
    const stayed = new Set(partners.values())
    const placeOf = (key: number, item: JsonObject): Place => {
      return { parent: list, key, item, isUnsure: unsure.has(item) }
    }
    for (const [old, at] of oldPlaces) {
      if (stayed.has(old)) continue
      this.#add(placeOf(at, old), isOmitted('removed', old) ? 'omitted' : 'removed', old, undefined)
    }
    for (const [now, at] of places) {
      const old = partners.get(now)
      if (old !== undefined) this.#compareMembers(placeOf(at, now), old, now)
      else this.#add(placeOf(at, now), isOmitted('added', now) ? 'listed' : 'added', undefined, now)
    }
    if (isMixed) this.#compareRest(list, before, after)
  }

  /** Items beside objects, in their order. */
  #compareRest(list: Place, before: readonly unknown[], after: readonly unknown[]): void {
    const [old, now] = [before, after].map(items =>
      [...items.entries()].filter(([, item]) => !isJsonObject(item)),
    ) as [[number, unknown][], [number, unknown][]]
    if (old.length !== now.length) {
      while (old.length > 0 && now.length > 0 && isSame(old.at(-1)![1], now.at(-1)![1])) {
        old.pop()
        now.pop()
      }
    }
    for (let at = 0; at < Math.max(old.length, now.length); at++) {
      const [key] = (now[at] ?? old[at])!
      this.compare({ parent: list, key }, old[at]?.[1], now[at]?.[1])
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
    if (holder?.item !== undefined) {
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
    const counts = (this.summary[kind] ??= Object.create(null) as Record<string, number>)
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

/** Whether both are lists, and one has an object. Nothing is an empty list. */
function haveObjects(...lists: [before: unknown, after: unknown]): boolean {
  const areLists = lists.every(list => list === undefined || Array.isArray(list))
  return areLists && lists.some(list => Array.isArray(list) && list.some(isJsonObject))
}

/** The objects of a list with their places. */
function objectsIn(list: readonly unknown[]): ReadonlyMap<JsonObject, number> {
  return new Map(list.flatMap((item, at) => (isJsonObject(item) ? [[item, at]] : [])))
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
 * `name`; those with a name only, among themselves. Then those with one identity among themselves,
 * equal ones first, and those without any, by their places. Objects with different uids of one run
 * are never matched.
 */
function matchObjects(
  before: readonly JsonObject[],
  after: readonly JsonObject[],
  others: () => readonly JsonObject[],
): Matched {
  const partners = new Map<JsonObject, JsonObject>()
  const taken = new Set<JsonObject>()
  const unsure = new Set<JsonObject>()
  let read: readonly JsonObject[] | undefined
  const equal = () => (read ??= others())
  const pair = (item: JsonObject, partner: JsonObject): void => {
    partners.set(item, partner)
    taken.add(partner)
  }
  let oneRun: boolean | undefined
  /** Numbers of another run of the application say nothing: then no object has the same one. */
  const isOneRun = () =>
    (oneRun ??= haveCommonUid(before, after) || equal().some(({ uid }) => keyOf(uid) !== null))
  const areTwo = (one: JsonObject, other: JsonObject): boolean => {
    const [a, b] = [keyOf(one.uid), keyOf(other.uid)]
    return a !== null && b !== null && a !== b && isOneRun()
  }
  const matchBy = (key: KeyOf, more: () => readonly JsonObject[] = () => []): void => {
    if (partners.size === Math.min(before.length, after.length)) return
    let further: ReadonlySet<Key | null> | undefined
    const olds = Map.groupBy(before, key)
    for (const [own, [item, ...twins]] of Map.groupBy(after, key)) {
      const [partner, ...oldTwins] = olds.get(own) ?? []
      if (own === null || !item || !partner || twins.length + oldTwins.length > 0) continue
      if (partners.has(item) || taken.has(partner) || areTwo(item, partner)) continue
      further ??= new Set(more().map(key))
      if (!further.has(own)) pair(item, partner)
    }
  }
  /** Which of the others an item is, is known where all are known to be other ones. */
  const markUnsure = (items: readonly JsonObject[], others: readonly JsonObject[]): void => {
    const uids = new Set(others.map(({ uid }) => keyOf(uid)))
    for (const item of others.length === 0 ? [] : items) {
      const uid = keyOf(item.uid)
      if (uid === null || uids.has(null) || uids.has(uid) || !isOneRun()) unsure.add(item)
    }
  }
  const pairEqual = (olds: readonly JsonObject[], nows: readonly JsonObject[]): void => {
    const same = Map.groupBy(olds, contentOf)
    for (const item of nows) {
      const partner = same.get(contentOf(item))?.shift()
      if (partner !== undefined && !areTwo(item, partner)) pair(item, partner)
    }
  }
  matchBy(item =>
    keyOf(item.id) === null ? null : JSON.stringify([item.id, item.uid, item.uuid].map(keyOf)),
  )
  matchBy(({ uid }) => keyOf(uid), equal)
  matchBy(({ id }) => keyOf(id))
  matchBy(({ uuid }) => keyOf(uuid), equal)
  matchBy(({ name }) => keyOf(name), equal)
  matchBy(({ id, uid, uuid, name }) =>
    [id, uid, uuid].some(each => keyOf(each) !== null) ? null : keyOf(name),
  )
  const left = Map.groupBy(
    before.filter(each => !taken.has(each)),
    identityOf,
  )
  const joined = after.filter(each => !partners.has(each))
  for (const [identity, nows] of Map.groupBy(joined, identityOf)) {
    const olds = left.get(identity) ?? []
    markUnsure(olds, nows)
    markUnsure(nows, olds)
    // Where nothing tells objects apart, their order may mean something.
    if (identity !== nothing) pairEqual(olds, nows)
    const waiting = nows.filter(each => !partners.has(each))
    for (const [at, partner] of olds.filter(each => !taken.has(each)).entries()) {
      const item = waiting[at]
      if (item !== undefined && !areTwo(item, partner)) pair(item, partner)
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

/** The same text for objects between which no change is found. */
function contentOf({ uid: _, ...item }: JsonObject): string {
  return JSON.stringify(item, (_name, value: unknown) => {
    const digits = digitsOf(value)
    if (digits !== null) return [digits, 'digits']
    if (!isJsonObject(value)) return value
    return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  })
}

/** The `identityOf` all without one. */
const nothing = JSON.stringify([-1, null])

function identityOf({ id, uuid, name, uid }: JsonObject): string {
  const keys = [id, uuid, name, uid].map(keyOf)
  const at = keys.findIndex(key => key !== null)
  return at === -1 ? nothing : JSON.stringify([at, keys[at]])
}
