import { isJsonObject, type JsonObject, resolvePointer } from '../../lib/util/json.ts'
import { diffJson, type JsonChange } from '../../lib/util/json-diff.ts'
import type { SceneRevision } from './scene-state.ts'

/** Up to this size a delta is worth reading even where the whole scene is smaller. */
const smallDeltaBytes = 1024

/** Members that differ in each snapshot of the add-on, and say nothing of the scene. */
const bookkeeping: ReadonlySet<string> = new Set(['change_count', 'captured_at'])

/**
 * The payload of `scene://delta`: how the scene went from `base` to `current`. A revision
 * without a scene counts as an empty object, so all members of the first scene are `added`.
 * A delta larger than the scene is a reset: reading the scene again costs less.
 */
export function sceneDelta(
  base: SceneRevision,
  current: SceneRevision,
  maxChanges: number,
): string {
  if (base.revision === current.revision) return deltaText(base, current, [], false)
  const [before, after] = [parse(base), parse(current)]
  const { changes, truncated } = diffJson(before, after, maxChanges)
  const named = changes.map(namedOmissions(before, after)).map(withObject(after))
  const text = deltaText(base, current, named, truncated)
  const worthBytes = Math.max(current.bytes, smallDeltaBytes)
  return Buffer.byteLength(text) > worthBytes ? sceneReset(current) : text
}

/** The base is not kept (any more): the reader takes the whole scene and goes on from there. */
export function sceneReset(current: SceneRevision): string {
  return JSON.stringify({ reset: true, revision: current.revision })
}

/** A step of a delta; `id` and `name` are those of the object that it is in. */
export type SceneChange = (JsonChange | OmissionChange) & {
  readonly id?: unknown
  readonly name?: unknown
}

/** Applied like `removed` and `added`: the object left or joined the list, not the scene. */
type OmissionChange =
  | { readonly path: string; readonly kind: 'omitted'; readonly before: unknown }
  | { readonly path: string; readonly kind: 'listed'; readonly after: unknown }

/** Beyond the object limit an object may leave the list and still be in the scene. */
function namedOmissions(
  before: unknown,
  after: unknown,
): (change: JsonChange) => JsonChange | OmissionChange {
  const [wasOmitted, isOmitted] = [omissionOf(before), omissionOf(after)]
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
function omissionOf(scene: unknown): (id: unknown) => boolean {
  if (!isJsonObject(scene)) return () => false
  const [objects, omitted] = [arrayOf(scene.objects), arrayOf(scene.omitted)]
  const { total } = isJsonObject(scene.truncated) ? scene.truncated : {}
  if (typeof total === 'number' && objects.length + omitted.length < total) return () => true
  const ids = new Set(omitted)
  return id => ids.has(id)
}

function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function idOf(object: unknown): unknown {
  return isJsonObject(object) ? object.id : undefined
}

function deltaText(
  base: SceneRevision,
  current: SceneRevision,
  changes: readonly SceneChange[],
  truncated: boolean,
): string {
  const { revision } = current
  return JSON.stringify({ base_revision: base.revision, revision, changes, truncated })
}

function parse({ text }: SceneRevision): JsonObject {
  const scene = text === null ? {} : JSON.parse(text)
  for (const name of bookkeeping) delete scene[name]
  return scene
}
