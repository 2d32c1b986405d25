import { arrayOf, isJsonObject, type JsonObject, pointerParts } from '../../lib/util/json.ts'
import { asText } from '../../lib/util/text.ts'
import { type JsonChange, type JsonDifferences, matchObjects } from '../../lib/mcp/json-diff.ts'
import { changesBetween, isPartial, parseScene } from '../resources/scene/changes.ts'

/** What an object is called. */
export interface SceneTarget {
  readonly id: string
  readonly name: string
  readonly uid?: string
}

export interface ComparedScenes {
  /** Texts of JSON; null: there is no scene. */
  readonly base: string | null
  readonly current: string | null
  readonly maxChanges: number
  /** As they are called in the base. */
  readonly targets: readonly SceneTarget[]
}

export interface SceneComparison extends JsonDifferences {
  /** So many changes, the first ones, are in what belongs to the targets. */
  readonly ofTargets: number
  /** What the targets are called now; null: they are gone. */
  readonly now: readonly (SceneTarget | null)[]
}

/** Changes among which those of the targets are looked for: more than most scenes can have. */
const maxSearched = 1_000_000

/**
 * What changed between two scenes. What belongs to an object: its children, and items of other
 * lists that it names, such as its materials.
 */
export function compareScenes(compared: ComparedScenes): SceneComparison {
  const { base, current, maxChanges, targets } = compared
  if (base === current) return { changes: [], truncated: false, ofTargets: 0, now: targets }
  const [before, after] = [parseScene(base), parseScene(current)]
  const found = changesBetween(before, after, targets.length > 0 ? maxSearched : maxChanges)
  if (targets.length === 0) return { ...found, ofTargets: 0, now: [] }
  const { family: related, now } = relatedObjects(before, after, targets)
  const named = new Set([...related].flatMap(namesIn))
  const isOwn = ({ path, kind }: JsonChange): boolean => {
    const [list = '', place, ...rest] = pointerParts(path)
    const isGone = rest.length === 0 && (kind === 'removed' || kind === 'omitted')
    const item: unknown = arrayOf((isGone ? before : after)[list])[Number(place)]
    if (!isJsonObject(item)) return false
    if (list === 'objects') return related.has(item)
    return [item.id, item.name].some(each => each != null && named.has(asText(each)))
  }
  const groups = Map.groupBy(found.changes, isOwn)
  const own = groups.get(true) ?? []
  const changes = [...own, ...(groups.get(false) ?? [])].slice(0, maxChanges)
  const truncated = found.truncated || found.changes.length > maxChanges
  return { changes, ofTargets: own.length, truncated, now }
}

/** The targets and all below them, as they are in each of the scenes, and what they are called now. */
function relatedObjects(before: JsonObject, after: JsonObject, targets: readonly SceneTarget[]) {
  const [oldObjects, newObjects] = [objectsOf(before), objectsOf(after)]
  const [oldIndex, newIndex] = [indexObjects(oldObjects), indexObjects(newObjects)]
  const { partners: oldOf } = matchObjects(oldObjects, newObjects)
  const newOf = new Map(Array.from(oldOf, ([now, old]) => [old, now]))
  const found = targets.map(target => {
    const was = findTarget(oldIndex, target)
    const is =
      was.length > 0
        ? was.flatMap<JsonObject>(each => newOf.get(each) ?? [])
        : findTarget(newIndex, target)
    return { was: [...was, ...is.flatMap<JsonObject>(each => oldOf.get(each) ?? [])], is }
  })
  const old = withChildren(oldObjects, found.map(({ was }) => was).flat())
  const now = withChildren(newObjects, found.map(({ is }) => is).flat())
  const both = [...old, ...now]
  return {
    // What joined the targets or left them is told of in both scenes.
    family: new Set(both.flatMap(each => [each, oldOf.get(each) ?? each, newOf.get(each) ?? each])),
    now: found.map(({ is: [item] }, at) => {
      if (item !== undefined) return labelsOf(item)
      return isPartial(after) ? targets[at]! : null
    }),
  }
}

export type ObjectIndex = ReturnType<typeof indexObjects>

/** The objects of a scene by the members that say which one it is. */
export function indexObjects(objects: readonly JsonObject[]) {
  const uids = Map.groupBy(objects, ({ uid }) => (uid == null ? null : asText(uid)))
  return {
    uids,
    runs: new Set(Array.from(uids.keys(), uid => runOf(uid ?? ''))),
    ids: Map.groupBy(objects, keyOf),
    names: Map.groupBy(objects, ({ name }) => name),
  }
}

/** By `uid`. By id, else by a name that one object has, when the scene has no uid of that run. */
export function findTarget(
  { uids, runs, ids, names }: ObjectIndex,
  { id, name, uid }: SceneTarget,
): readonly JsonObject[] {
  const same = uid === undefined ? undefined : uids.get(uid)
  if (same !== undefined) return same
  const run = runOf(uid ?? '')
  if (run !== '' && runs.has(run)) return []
  const named = names.get(name) ?? []
  return ids.get(id) ?? (named.length === 1 ? named : [])
}

/** The run of the application in which it gave the uid: "run." of "run.number". */
function runOf(uid: string): string {
  return uid.slice(0, uid.lastIndexOf('.') + 1)
}

/** Its id and name, each the other one where it is missing. */
export function labelsOf({ id, name }: JsonObject): SceneTarget {
  return { id: asText(id ?? name), name: asText(name ?? id) }
}

function withChildren(objects: readonly JsonObject[], roots: readonly JsonObject[]) {
  const children = Map.groupBy(objects, ({ parent }) => (parent == null ? null : asText(parent)))
  const related = new Set(roots)
  // The set grows while it is gone through; nothing comes twice.
  for (const each of related) {
    const key = keyOf(each)
    for (const child of (key !== null && children.get(key)) || []) related.add(child)
  }
  return related
}

/** The texts in the members of an object, as far as they may name an item of another list. */
function namesIn({ id: _, name: __, uid: ___, parent: ____, ...members }: JsonObject) {
  return Object.values(members)
    .flat()
    .filter(each => typeof each === 'string')
}

function objectsOf({ objects }: JsonObject): readonly JsonObject[] {
  return arrayOf(objects).filter(isJsonObject)
}

function keyOf({ id, name }: JsonObject): string | null {
  const key = id ?? name
  return key == null ? null : asText(key)
}
