import { arrayOf, isJsonObject, type JsonObject, resolvePointer } from '../../lib/util/json.ts'
import { diffJson, type JsonChange } from '../../lib/util/json-diff.ts'
import type { OmissionChange, SceneChange } from '../../lib/mcp/change-words.ts'
import type { SceneRevision } from './scene-revision.ts'

/** Members that differ in each snapshot of the add-on, and say nothing of the scene. */
export const bookkeeping: ReadonlySet<string> = new Set(['change_count', 'captured_at'])

export interface SceneChanges {
  readonly changes: readonly SceneChange[]
  /** There are more. */
  readonly truncated: boolean
}

/** The scene that readers are told of now is the one that their next changes begin with. */
const parsed = new WeakMap<Pick<SceneRevision, 'text'>, WeakRef<JsonObject>>()

/** What changed between two scenes, an object at a time. */
export function deltaBetween(
  base: Pick<SceneRevision, 'text'>,
  current: Pick<SceneRevision, 'text'>,
  maxChanges: number,
): SceneChanges {
  const [old, text] = [base.text, current.text]
  if (old === text) return { changes: [], truncated: false }
  const before = parsed.get(base)?.deref() ?? parseScene(old)
  const after = parsed.get(current)?.deref() ?? parseScene(text)
  parsed.set(current, new WeakRef(after))
  return changesBetween(before, after, maxChanges)
}

/** The same of parsed scenes. */
export function changesBetween(before: unknown, after: unknown, maxChanges: number): SceneChanges {
  const { changes, truncated } = diffJson(before, after, maxChanges)
  const named = namedOmissions(omissionOf(before), omissionOf(after))
  return { changes: changes.map(named).map(withObject(after)), truncated }
}

/** Without what differs in each snapshot. */
export function parseScene(text: string | null): JsonObject {
  const scene = text === null ? {} : JSON.parse(text)
  for (const name of bookkeeping) delete scene[name]
  return scene
}

/** Beyond the object limit an object may leave the list and still be in the scene. */
export function namedOmissions(
  wasOmitted: (id: unknown) => boolean,
  isOmitted: (id: unknown) => boolean,
): (change: JsonChange) => JsonChange | OmissionChange {
  return change => {
    if (!objectPath.test(change.path)) return change
    if (change.kind === 'removed' && isOmitted(idOf(change.before))) {
      return { ...change, kind: 'omitted' }
    }
    if (change.kind === 'added' && wasOmitted(idOf(change.after))) {
      return { ...change, kind: 'listed' }
    }
    return change
  }
}

const objectPath = /^\/objects\/\d+$/

/** A path inside an item of a list, which all of its changes follow the removals of that list. */
const insideItem = /^(\/[^/]+\/\d+)\/./

/**
 * Adds the id and name of the item that a change is in. Changes inside an item come after the
 * removals of its list, so the path leads to the same item in the scene as it is now.
 */
function withObject(after: unknown): (change: JsonChange | OmissionChange) => SceneChange {
  return change => {
    const path = insideItem.exec(change.path)?.[1]
    if (path === undefined) return change
    const item = resolvePointer(after, path)
    if (!item.ok || !isJsonObject(item.value)) return change
    const { id, name } = item.value
    return { ...change, ...(id !== undefined && { id }), ...(name !== undefined && { name }) }
  }
}

/**
 * Tells whether the scene may hold an object that its `objects` leave out: one named in `omitted`,
 * or any while `objects` and `omitted` are fewer than `truncated.total`.
 */
export function omissionOf(scene: unknown): (id: unknown) => boolean {
  if (!isJsonObject(scene)) return () => false
  return omission(arrayOf(scene.objects).length, scene.omitted, scene.truncated)
}

export function omissionIn(
  count: number,
  member: (name: string) => string | null,
): (id: unknown) => boolean {
  const value = (name: string): unknown => JSON.parse(member(name) ?? 'null')
  return omission(count, value('omitted'), value('truncated'))
}

function omission(count: number, omitted: unknown, truncated: unknown): (id: unknown) => boolean {
  const listed = arrayOf(omitted)
  const { total } = isJsonObject(truncated) ? truncated : {}
  if (typeof total === 'number' && count + listed.length < total) return () => true
  const ids = new Set(listed)
  return id => ids.has(id)
}

function idOf(object: unknown): unknown {
  return isJsonObject(object) ? object.id : undefined
}
