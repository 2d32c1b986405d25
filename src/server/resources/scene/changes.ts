import { numberOf, parseExact } from '../../../lib/util/exact-json.ts'
import { arrayOf, isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import { diffJson, type JsonDifferences } from '../../../lib/mcp/json-diff.ts'
import type { SceneObjects, SceneStep } from '../../../lib/host-link/scene-objects.ts'

export function parseScene(text: string | null): JsonObject {
  return parseExact(text ?? '{}') as JsonObject
}

/** Takes a step in the scene, or takes it back: from one of its texts to the other one. */
export function takeStep(
  scene: JsonObject,
  step: SceneStep,
  from: string | null,
  to: string | null,
): void {
  const value = to === null ? undefined : parseExact(to)
  if (step.kind === 'object') {
    const objects = scene.objects as unknown[]
    objects.splice(step.at, from === null ? 0 : 1, ...(to === null ? [] : [value]))
  } else if (to === null) {
    Reflect.deleteProperty(scene, step.name)
  } else {
    // Setting a member `__proto__` would change the prototype.
    const member = { value, configurable: true, enumerable: true, writable: true }
    Object.defineProperty(scene, step.name, member)
  }
}

/** What changed between two scenes. Both may lack `equal` objects that they have in common. */
export function changesBetween(
  before: JsonObject,
  after: JsonObject,
  maxChanges: number,
  equal: { count: number; objects?: () => readonly JsonObject[] } = { count: 0 },
): JsonDifferences {
  return diffJson(followed(before), followed(after), {
    maxChanges,
    others: equal.objects,
    isPartial: [isPartial(before, equal.count), isPartial(after, equal.count)],
  })
}

/** The same for a scene that is the result of these steps, at the cost of what they touched. */
export function patchedChanges(
  { steps, scene }: { steps: readonly SceneStep[]; scene: SceneObjects },
  maxChanges: number,
): JsonDifferences {
  const objects = new Map<string, string | null>()
  const members = new Map([['truncated', scene.member('truncated')]])
  for (const step of steps.toReversed()) {
    if (step.kind === 'object') objects.set(step.id, step.before)
    else members.set(step.name, step.before)
  }
  const placeBefore = placesBefore(scene, steps)
  const old = touched(objects, members, placeBefore)
  const now = touched(
    new Map(Array.from(objects.keys(), id => [id, scene.object(id)])),
    new Map(Array.from(members.keys(), name => [name, scene.member(name)])),
    id => scene.place(id) ?? -1,
  )
  const { changes, truncated } = changesBetween(old.scene, now.scene, maxChanges, {
    count: scene.ids.length - now.ids.length,
    objects: () => scene.ids.filter(id => !objects.has(id)).map(id => parseScene(scene.object(id))),
  })
  const placed = changes.map(change => {
    const isGone = /^\/objects\/\d+$/.test(change.path) && change.after === undefined
    const { ids, place } = isGone ? old : now
    const path = change.path.replace(/^\/objects\/(\d+)/, (_, at) => `/objects/${place(ids[at]!)}`)
    return { ...change, path }
  })
  return { changes: placed, truncated }
}

/** A scene of a few objects and members, from their texts; the objects in the order of `place`. */
function touched(
  objects: ReadonlyMap<string, string | null>,
  members: ReadonlyMap<string, string | null>,
  place: (id: string) => number,
) {
  const there = (texts: ReadonlyMap<string, string | null>) =>
    [...texts].flatMap(([name, text]) => (text === null ? [] : [[name, parseExact(text)] as const]))
  const listed = there(objects).sort(([a], [b]) => place(a) - place(b))
  const scene = { ...Object.fromEntries(there(members)), objects: listed.map(([, item]) => item) }
  return { scene, place, ids: listed.map(([id]) => id) }
}

/** Where objects were before the steps. All ids are looked at only when an object left. */
function placesBefore(scene: SceneObjects, steps: readonly SceneStep[]): (id: string) => number {
  const moves = steps.filter(step => (step.before === null) !== (step.after === null))
  if (moves.every(({ after }) => after !== null)) return id => scene.place(id) ?? -1
  const ids = [...scene.ids]
  for (const step of moves.toReversed()) {
    if (step.kind === 'member') continue
    if (step.after === null) ids.splice(step.at, 0, step.id)
    else ids.splice(step.at, 1)
  }
  const places = new Map(ids.map((id, at) => [id, at]))
  return id => places.get(id) ?? -1
}

/** Members that differ in each snapshot, or count what the scene lists. */
const bookkeeping = /^(?:change_count|captured_at|truncated|total|modified)$/

/** In one order, without what differs in each snapshot or when the document is saved. */
function followed(scene: JsonObject): JsonObject {
  const entries = Object.entries(scene).filter(([name]) => !bookkeeping.test(name))
  const shown = entries.map(([name, value]): [string, unknown] => {
    if (name !== 'document' || !isJsonObject(value)) return [name, value]
    const { modified: _, ...document } = value
    return [name, document]
  })
  return Object.fromEntries(shown.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/**
 * Whether the scene has more objects than it lists: `objects`, and `others` equal ones that are
 * left out here.
 */
export function isPartial({ objects, truncated }: JsonObject, others = 0): boolean {
  const total = isJsonObject(truncated) ? (numberOf(truncated.total) ?? 0) : 0
  return arrayOf(objects).length + others < total
}
