import { type JsonChange, diffJson } from '../../lib/util/json-diff.ts'
import { isJsonObject } from '../../lib/util/json.ts'
import type { SceneRevision } from './scene-state.ts'

/** Up to this size a delta is worth reading even where the whole scene is smaller. */
const smallDeltaBytes = 1024

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
  const text = deltaText(base, current, namedOmissions(changes, before, after), truncated)
  const worthBytes = Math.max(current.bytes, smallDeltaBytes)
  return Buffer.byteLength(text) > worthBytes ? sceneReset(current) : text
}

/** The base is not kept (any more): the reader takes the whole scene and goes on from there. */
export function sceneReset(current: SceneRevision): string {
  return JSON.stringify({ reset: true, revision: current.revision })
}

type SceneChange = JsonChange | OmissionChange

/** Applied like `removed` and `added`: the object left or joined the list, not the scene. */
type OmissionChange =
  | { readonly path: string; readonly kind: 'omitted'; readonly before: unknown }
  | { readonly path: string; readonly kind: 'listed'; readonly after: unknown }

/** Beyond the object limit an object may leave the list and still be in the scene. */
function namedOmissions(
  changes: readonly JsonChange[],
  before: unknown,
  after: unknown,
): readonly SceneChange[] {
  const [wasOmitted, isOmitted] = [omittedIds(before), omittedIds(after)]
  if (wasOmitted.size === 0 && isOmitted.size === 0) return changes
  return changes.map(change => {
    if (!objectPath.test(change.path)) return change
    if (change.kind === 'removed' && isOmitted.has(idOf(change.before))) {
      return { ...change, kind: 'omitted' }
    }
    if (change.kind === 'added' && wasOmitted.has(idOf(change.after))) {
      return { ...change, kind: 'listed' }
    }
    return change
  })
}

const objectPath = /^\/objects\/\d+$/

/** The member `omitted` of a scene: ids of objects that its `objects` leave out. */
function omittedIds(scene: unknown): ReadonlySet<unknown> {
  const omitted = isJsonObject(scene) ? scene.omitted : undefined
  return new Set(Array.isArray(omitted) ? omitted : [])
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

function parse(revision: SceneRevision): unknown {
  return revision.text === null ? {} : JSON.parse(revision.text)
}
