import { numberOf } from '../util/exact-json.ts'
import { arrayOf, isJsonObject, type JsonObject } from '../util/json.ts'
import { isVector, type JsonChange } from './json-diff.ts'

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

const isOfCollection = /^\/collections\/\d+\/objects$/

/** What needs no words because others say just that, and what objects are called otherwise. */
export function explanationsIn(spots: readonly Spot[]) {
  const names = new Map<string, JsonChange>()
  const moves = new Map<string, JsonChange>()
  /** Items of the lists of the scene, by 1 for those that came and -1 for those that went. */
  const passed: { readonly list: string; readonly by: number; readonly item: JsonObject }[] = []
  const inCollections: number[] = []
  for (const { change, key, list, member } of spots) {
    const { kind, path, before, after } = change
    const [, top] = /^\/([^/]+)\/\d+$/.exec(path) ?? []
    const item = after ?? before
    const by = kind === 'added' ? 1 : kind === 'removed' ? -1 : 0
    if (by !== 0 && top !== undefined && isJsonObject(item)) passed.push({ list: top, by, item })
    if (isOfCollection.test(path)) inCollections.push(amountBy(change))
    if (list === null || kind !== 'changed' || member.length !== 1) continue
    if (member[0] === 'translate') moves.set(key, change)
    if (identity.test(member[0]!) && isLabel(change)) names.set(key, change)
  }
  const chosen = spots.find(spot => /^\/selection(?:\/ids)?$/.test(spot.change.path))
  const selected = Array.isArray(chosen?.change.after) ? arrayOf(chosen.change.after) : null
  /** How many more there are of what is meant. */
  const cameTo = (isMeant: (list: string, type: unknown) => boolean): number =>
    passed.reduce((sum, { list, by, item }) => (isMeant(list, item.type) ? sum + by : sum), 0)
  /** `counts.materials`, `counts.meshes` and `counts.by_type.mesh` of `dcc-scene/1`. */
  const isCount = (change: JsonChange, [, part = '', type]: readonly string[]): boolean => {
    const single = type ?? (part === 'meshes' ? 'mesh' : part.replace(/s$/, ''))
    const came = cameTo((list, each) => list === part || (list === 'objects' && each === single))
    return amountBy(change) === came
  }
  /** Each object is in a collection: all that came to collections are those that came. */
  const isMembership = (): boolean => {
    const by = cameTo(list => list === 'objects')
    const sum = inCollections.reduce((all, each) => all + each, 0)
    return sum === by && inCollections.every(each => each * by > 0)
  }
  /** Whether the object is where its own movement took it. */
  const isMove = ({ before, after }: JsonChange, move: JsonChange | undefined): boolean => {
    const [by, local] = [differences(before, after), differences(move?.before, move?.after)]
    const isSmall = (rest: number, by: number) => Math.abs(rest) <= 1e-6 * Math.max(1, Math.abs(by))
    return by?.every((each, at) => local !== null && isSmall(each - local[at]!, each)) === true
  }
  const isExplained = ({ change, key, list, member }: Spot): boolean => {
    const { path, before, after, id = change.name } = change
    const [name = '', part = ''] = member
    if (list === null) {
      if (name === 'counts') return isCount(change, member)
      if (selected !== null && name === 'selection') {
        if (part === 'count') return numberOf(after) === selected.length
        if (part === 'truncated') return true
        if (part === 'active') return selected.length === 1 && selected[0] === after
      }
      return false
    }
    if (isOfCollection.test(path)) return isMembership()
    if (name === 'selected') return selected?.includes(id) === (after === true)
    if (name === 'world_translate') return isMove(change, moves.get(key))
    if (name === 'matrix_world') return moves.has(key)
    if (member.length !== 1 || !identity.test(name)) return false
    const label = names.get(key)
    return !isLabel(change) && before === label?.before && after === label?.after
  }
  return { isExplained, renamingOf: (key: string) => names.get(key) }
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
