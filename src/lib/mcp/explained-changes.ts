import { numberOf } from '../util/exact-json.ts'
import { arrayOf, isJsonObject, type JsonObject } from '../util/json.ts'
import { isVector, type JsonChange, objectLists } from './json-diff.ts'

/** A change, and where it is. */
export interface Spot {
  readonly change: JsonChange
  /** The same for all changes of one object. */
  readonly key: string
  /** The list and name of the object that it is or is in; null: it is in none. */
  readonly list: string | null
  readonly label: string | null
  /** The way to it from that object, or from the scene; empty for an object that came or went. */
  readonly member: readonly string[]
}

export const identity = /^(?:id|name)$/

/** Whether people call the object otherwise now. */
export function isLabel({ path, name }: JsonChange): boolean {
  return path.endsWith('/name') || name === undefined
}

/** Members that name objects, or items of the list that is called as they are. */
const reference = /^(?:parent|target|camera|active|ids|selection|children|collections|materials)$/
const countedTypes = new Map([
  ['meshes', 'mesh'],
  ['lights', 'light'],
  ['cameras', 'camera'],
])

/** What needs no words because others say just that, and what objects are called otherwise. */
export function explanationsIn(spots: readonly Spot[]) {
  const names = new Map<string, JsonChange>()
  const moves = new Map<string, JsonChange>()
  /** By list: what its items were called by others, and what they are called now. */
  const renamed = new Map<string, Map<unknown, unknown>>()
  /** Of lists of the scene. */
  const passed: { readonly list: string; readonly kind: string; readonly item: JsonObject }[] = []
  const inCollections: number[] = []
  for (const { change, key, list, member } of spots) {
    const { kind, path, before, after, id, matched } = change
    const [, top] = /^\/([^/]+)\/\d+$/.exec(path) ?? []
    const item = after ?? before
    if (member.length === 0 && top !== undefined && isJsonObject(item))
      passed.push({ list: top, kind, item })
    if (isOfCollection.test(path)) inCollections.push(amountBy(change))
    if (list === null || kind !== 'changed' || member.length !== 1) continue
    if (member[0] === 'translate') moves.set(key, change)
    if (!identity.test(member[0]!)) continue
    if (isLabel(change)) names.set(key, change)
    // Where objects have an id, a name may be that of several.
    if (matched !== undefined || (member[0] === 'name' && id !== undefined)) continue
    const family = familyOf(list)
    const references = renamed.get(family) ?? new Map<unknown, unknown>()
    renamed.set(family, references.set(before, references.has(before) ? undefined : after))
  }
  const isReference = ({ change: { kind, before, after }, list, member }: Spot): boolean => {
    const name = member.at(-1) ?? ''
    if (kind !== 'changed' || !reference.test(name)) return false
    const isOwn = name === 'parent' && list !== null
    const family = isOwn ? familyOf(list) : /^(?:collections|materials)$/.test(name) ? name : ''
    const references = renamed.get(family)
    if (![before].flat().some(each => references?.has(each))) return false
    if (references === undefined || Array.isArray(before) !== Array.isArray(after)) return false
    const texts = [
      [before].flat().map(each => (references.has(each) ? references.get(each) : each)),
      [after].flat(),
    ].map(each => each.map(one => JSON.stringify(one) ?? ''))
    const [old, now] = name === 'materials' ? texts : texts.map(each => each.toSorted())
    return JSON.stringify(old) === JSON.stringify(now)
  }
  const chosen = spots.find(spot => /^\/selection(?:\/ids)?$/.test(spot.change.path))
  const selected =
    chosen && Array.isArray(chosen.change.after) && !isReference(chosen)
      ? arrayOf(chosen.change.after)
      : null
  const idsOf = (kind: string) =>
    new Set(passed.flatMap(each => (each.kind === kind ? [each.item.id] : [])))
  /** How many more items the list of the scene has. */
  const cameTo = (list: string, isMeant: (item: JsonObject) => boolean = () => true): number =>
    passed.reduce((sum, each) => {
      const by = each.kind === 'added' ? 1 : each.kind === 'removed' ? -1 : 0
      return each.list === list && isMeant(each.item) ? sum + by : sum
    }, 0)
  const isCount = (change: JsonChange, [, part = '', type = countedTypes.get(part)]: string[]) =>
    amountBy(change) ===
    (type === undefined ? cameTo(part) : cameTo('objects', item => item.type === type))
  /** Each object is in a collection: no other one is concerned if all came, or all went. */
  const isMembership = (change: JsonChange): boolean => {
    const by = cameTo('objects')
    const sum = inCollections.reduce((all, each) => all + each, 0)
    const isAll = passed.every(({ list, kind }) => list !== 'objects' || kind === kindBy(by))
    if (isAll && sum === by && inCollections.every(each => each * by > 0)) return true
    const inThis = cameTo('objects', item => arrayOf(item.collections).includes(change.name))
    return amountBy(change) === inThis
  }
  /** Whether the object is where its own movement took it. */
  const isMove = ({ before, after }: JsonChange, move: JsonChange | undefined): boolean => {
    const [by, local] = [differences(before, after), differences(move?.before, move?.after)]
    if (by === null || local?.length !== by.length) return false
    return by.every((each, at) => Math.abs(each - local[at]!) <= 1e-6 * Math.max(1, Math.abs(each)))
  }
  const isExplained = (spot: Spot): boolean => {
    const { change, key, list, member } = spot
    const { path, before, after, id = change.name } = change
    const [name = '', part = ''] = member
    if (list === null) {
      if (name === 'counts') return isCount(change, [...member])
      if (path === '/omitted') {
        const [old, now] = [before, after].map(each => new Set(arrayOf(each)))
        const isTold = now!.difference(old!).isSubsetOf(idsOf('omitted'))
        return isTold && old!.difference(now!).isSubsetOf(idsOf('listed'))
      }
      if (selected !== null && name === 'selection') {
        if (part === 'count') return numberOf(after) === selected.length
        if (part === 'truncated') return true
        if (part === 'active') return selected.length === 1 && selected[0] === after
      }
      return isReference(spot)
    }
    if (isOfCollection.test(path)) return isMembership(change)
    if (/^\/materials\/\d+\/users$/.test(path)) {
      const users = cameTo('objects', item => arrayOf(item.materials).includes(change.name))
      return amountBy(change) === users
    }
    if (name === 'selected') return selected?.includes(id) === (after === true)
    if (name === 'world_translate') return isMove(change, moves.get(key))
    if (name === 'matrix_world') return moves.has(key)
    if (member.length !== 1 || !identity.test(name)) return isReference(spot)
    const label = names.get(key)
    return !isLabel(change) && before === label?.before && after === label?.after
  }
  return { isExplained, renamingOf: (key: string) => names.get(key) }
}

const isOfCollection = /^\/collections\/\d+\/objects$/

/** Objects have one family, in whatever list they are. */
function familyOf(list: string): string {
  return objectLists.has(list) ? '' : list
}

function kindBy(amount: number): string {
  return amount > 0 ? 'added' : 'removed'
}

/** Not a number for what is no amount. */
function amountBy({ before = 0, after = 0 }: JsonChange): number {
  return (numberOf(after) ?? NaN) - (numberOf(before) ?? NaN)
}

/** Null: they are no vectors of one length. */
export function differences(before: unknown, after: unknown): readonly number[] | null {
  if (!isVector(before) || !isVector(after) || before.length !== after.length) return null
  return after.map((value, at) => numberOf(value)! - numberOf(before[at])!)
}
