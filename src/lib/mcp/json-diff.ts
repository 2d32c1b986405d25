import { digitsOf, type ExactNumber, numberOf } from '../util/exact-json.ts'
import { escapePointer, isJsonObject, type JsonObject } from '../util/json.ts'
import { asText } from '../util/text.ts'

/** One difference between two JSON values. */
export interface JsonChange {
  /** Pointer into the new value. An item that left a list ends with its place in the old list. */
  readonly path: string
  /** `omitted` and `listed`: `removed` and `added` where not all objects are listed. */
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
}

interface DiffOptions {
  readonly maxChanges: number
  /** Objects that both lists `objects` have and that are left out because they are equal. */
  readonly others?: () => readonly JsonObject[]
  /** Whether the scene has more objects than the list `objects`, before and after. */
  readonly isPartial?: readonly [before: boolean, after: boolean]
}

/**
 * What differs between two JSON values; linear in their size.
 *
 * - Lists of objects are compared as `matchObjects` matches them. Their order is no change.
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
}

/** Items of these lists stand for themselves, wherever the list is; '' is the whole value. */
export const objectLists: ReadonlySet<unknown> = new Set(['objects', 'nodes', 'children', ''])

class Diff implements JsonDifferences {
  readonly changes: JsonChange[] = []
  truncated = false
  readonly #options: DiffOptions

  constructor(options: DiffOptions) {
    this.#options = options
  }

  /** `undefined` stands for a missing value. */
  compare(place: Place, before: unknown, after: unknown): void {
    if (isSame(before, after)) return
    const [oldItems, newItems] = [objectsIn(before), objectsIn(after)]
    if (oldItems !== null && newItems !== null && oldItems.length + newItems.length > 0) {
      this.#compareItems(place, oldItems, newItems)
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
    const { others, isPartial = [] } = isOfScene ? this.#options : {}
    const [wasPartial = false, isStillPartial = false] = isPartial
    const { partners, unsure } = matchObjects(before, after, others)
    const stayed = new Set(partners.values())
    const placeOf = (key: number, item: JsonObject): Place => {
      return { parent: list, key, item, isUnsure: unsure.has(item) }
    }
    for (const [at, old] of before.entries()) {
      if (stayed.has(old)) continue
      this.#add(placeOf(at, old), isStillPartial ? 'omitted' : 'removed', old, undefined)
    }
    for (const [at, now] of after.entries()) {
      const old = partners.get(now)
      if (old !== undefined) this.#compareMembers(placeOf(at, now), old, now)
      else this.#add(placeOf(at, now), wasPartial ? 'listed' : 'added', undefined, now)
    }
  }

  #add(place: Place, kind: JsonChange['kind'], before: unknown, after: unknown): void {
    if (this.changes.length === this.#options.maxChanges) {
      this.truncated = true
      return
    }
    const way: Place[] = []
    for (let each = place; each.parent !== null; each = each.parent) way.unshift(each)
    const path = way.map(({ key }) => `/${escapePointer(String(key))}`).join('')
    const isItem = (each: Place) =>
      each.item !== undefined && (each === place || labelOf(each.item) !== null)
    const innermost = way.findLastIndex(each => isItem(each) && objectLists.has(each.parent?.key))
    const depth = innermost === -1 ? way.findIndex(isItem) : innermost
    const holder = way[depth]
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
}

/** What people call an object: its name, else its `id` or `uuid`; null: it has none of them. */
export function labelOf({ name, id, uuid }: JsonObject): string | null {
  const label = [name, id, uuid].find(each => keyOf(each) !== null)
  return label === undefined ? null : asText(label)
}

/** The items of a list of objects; null for anything else. A missing list is an empty one. */
function objectsIn(value: unknown): readonly JsonObject[] | null {
  if (value === undefined) return []
  return Array.isArray(value) && value.every(isJsonObject) ? value : null
}

const maxVector = 16

/** A short list of numbers: a position, a colour, a matrix. */
export function isVector(value: unknown): value is readonly (number | ExactNumber)[] {
  const isShort = Array.isArray(value) && value.length <= maxVector
  return isShort && value.every(each => numberOf(each) !== undefined)
}

/** A list that is not one value, as a vector or a list of names is. */
function isLong(value: unknown): value is readonly unknown[] {
  if (!Array.isArray(value)) return false
  return !value.every(each => typeof each === 'string') && !isVector(value)
}

/** Numbers are the same by their digits. False for objects: it cannot be told at once. */
export function isSame(before: unknown, after: unknown): boolean {
  if (before === after) return true
  if (Array.isArray(before) && Array.isArray(after)) {
    return before.length === after.length && before.every((each, at) => isSame(each, after[at]))
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

/**
 * Matches objects by the first of these that one of each list has alone: `uid`, `id`, `uuid`,
 * `name`. Then those with one identity among themselves, and those without any, by their places.
 * Objects with different uids of one run are never matched.
 */
export function matchObjects(
  before: readonly JsonObject[],
  after: readonly JsonObject[],
  others: () => readonly JsonObject[] = () => [],
) {
  /** What items of the new list were in the old one. */
  const partners = new Map<JsonObject, JsonObject>()
  const taken = new Set<JsonObject>()
  /** Items that may be other ones: they were matched by their places. */
  const unsure = new Set<JsonObject>()
  let read: readonly JsonObject[] | undefined
  const equal = () => (read ??= others())
  const pair = (item: JsonObject, partner: JsonObject): void => {
    partners.set(item, partner)
    taken.add(partner)
  }
  let sameRun: boolean | undefined
  /** Numbers of another run of the application say nothing: then no object has the same one. */
  const isSameRun = () =>
    (sameRun ??= shareUid(before, after) || equal().some(({ uid }) => keyOf(uid) !== null))
  const areDistinct = (one: JsonObject, other: JsonObject): boolean => {
    const [a, b] = [keyOf(one.uid), keyOf(other.uid)]
    return a !== null && b !== null && a !== b && isSameRun()
  }
  const matchBy = (
    key: (item: JsonObject) => string | number | null,
    more: () => readonly JsonObject[] = () => [],
  ): void => {
    if (partners.size === Math.min(before.length, after.length)) return
    let further: ReadonlySet<string | number | null> | undefined
    const oldItems = Map.groupBy(before, key)
    for (const [own, [item, ...twins]] of Map.groupBy(after, key)) {
      const [partner, ...oldTwins] = oldItems.get(own) ?? []
      if (own === null || !item || !partner || twins.length + oldTwins.length > 0) continue
      if (partners.has(item) || taken.has(partner) || areDistinct(item, partner)) continue
      further ??= new Set(more().map(key))
      if (!further.has(own)) pair(item, partner)
    }
  }
  matchBy(item =>
    keyOf(item.id) === null ? null : JSON.stringify([item.id, item.uid, item.uuid].map(keyOf)),
  )
  matchBy(({ uid }) => keyOf(uid), equal)
  matchBy(({ id }) => keyOf(id))
  matchBy(({ uuid }) => keyOf(uuid), equal)
  matchBy(({ name }) => keyOf(name), equal)
  const left = before.filter(each => !taken.has(each))
  const joined = after.filter(each => !partners.has(each))
  const known = new Set(left.map(each => identityBy(identities, each)))
  if (!joined.some(each => known.has(identityBy(identities, each)))) return { partners, unsure }
  const members = isSameRun() ? ['uid', ...identities] : identities
  const identityOf = (item: JsonObject) => identityBy(members, item)
  const unmatched = Map.groupBy(left, identityOf)
  for (const [identity, newItems] of Map.groupBy(joined, identityOf)) {
    const oldItems = unmatched.get(identity) ?? []
    if (oldItems.length > 0) for (const each of [...oldItems, ...newItems]) unsure.add(each)
    for (const [at, partner] of oldItems.slice(0, newItems.length).entries())
      pair(newItems[at]!, partner)
  }
  return { partners, unsure }
}

/** Of objects in which nothing was unique. */
const identities = ['id', 'uuid', 'name', 'uid']

/** By the first of these members that the object has; null: it has none. */
function identityBy(members: readonly string[], item: JsonObject): string | null {
  const member = members.find(name => keyOf(item[name]) !== null)
  return member === undefined ? null : JSON.stringify([member, keyOf(item[member])])
}

/** A text, a number, or the digits of one that JavaScript would round; null for anything else. */
function keyOf(value: unknown): string | number | null {
  if (typeof value === 'string') return value === '' ? null : value
  const number = numberOf(value)
  if (number === undefined) return null
  return isSame(value, number) ? number : `\0${digitsOf(value)}`
}

function shareUid(before: readonly JsonObject[], after: readonly JsonObject[]): boolean {
  const uids = new Set(before.map(({ uid }) => keyOf(uid)))
  return after.some(({ uid }) => keyOf(uid) !== null && uids.has(keyOf(uid)))
}
