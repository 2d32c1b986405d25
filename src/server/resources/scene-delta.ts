import { escapePointer } from '../../lib/util/json.ts'
import type { OmissionChange, SceneChange } from '../../lib/mcp/change-words.ts'
import { diffJson, type JsonChange } from '../../lib/util/json-diff.ts'
import type { SceneObjects, SceneStep } from '../../lib/host-link/scene-objects.ts'
import type { NamedRevision } from './checkpoint-source.ts'
import {
  bookkeeping,
  deltaBetween,
  namedOmissions,
  omissionIn,
  type SceneChanges,
} from './scene-changes.ts'
import type { SceneRevision } from './scene-revision.ts'

/** Up to this size a delta is worth reading even where the whole scene is smaller. */
const smallDeltaBytes = 1024

/** A revision of this run, or a checkpoint, whose number is of another run perhaps. */
type Endpoint = SceneRevision | NamedRevision

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
  const { changes, truncated } = deltaBetween(base, current, maxChanges)
  return deltaOrReset(base, current, changes, truncated)
}

/** The same between any two, never a reset: one of them cannot be read elsewhere. */
export function namedDelta(
  base: Endpoint,
  until: Endpoint,
  { changes, truncated }: SceneChanges,
): string {
  return deltaText(base, until, changes, truncated)
}

/** The same for a scene that was only patched since `base`, at the cost of what changed. */
export function patchedDelta(
  base: SceneRevision,
  current: SceneRevision,
  { steps, scene }: { readonly steps: readonly SceneStep[]; readonly scene: SceneObjects },
  maxChanges: number,
): string {
  const touched = mergeSteps(steps)
  const named = once(() => omissionsOf(steps, touched, scene))
  // All ids are looked at only when an object left.
  const placesBefore = once(() => {
    return new Map(idsBeforeSteps(scene.ids, steps).map((id, at) => [id, at]))
  })
  const changes: SceneChange[] = []
  for (const [name, before] of touched.members) {
    if (bookkeeping.has(name)) continue
    const path = `/${escapePointer(name)}`
    changes.push(...changesAt(path, before, scene.member(name), maxChanges))
  }
  const removed: SceneChange[] = []
  const rest: { at: number; changes: readonly SceneChange[] }[] = []
  for (const [id, { before, left }] of touched.objects) {
    const after = scene.object(id)
    const at = scene.place(id) ?? -1
    if (before !== null && (left || after === null)) {
      const path = `/objects/${placesBefore().get(id)}`
      removed.push(...changesAt(path, before, null, 1).map(named()))
    }
    if (after === null) continue
    const from = left ? null : before
    const path = `/objects/${at}`
    const found = changesAt(path, from, after, maxChanges)
    const { name } = JSON.parse(after)
    const ofObject = { id, ...(name !== undefined && { name }) }
    rest.push({
      at,
      changes: found.map(each => (each.path === path ? named()(each) : { ...each, ...ofObject })),
    })
  }
  removed.sort((a, b) => placeIn(b.path) - placeIn(a.path))
  rest.sort((a, b) => a.at - b.at)
  changes.push(...removed, ...rest.flatMap(each => each.changes))
  const listed = changes.slice(0, maxChanges)
  return deltaOrReset(base, current, listed, changes.length > maxChanges)
}

interface Touched {
  /** By id: the text before all steps, and whether the object left its place meanwhile. */
  readonly objects: ReadonlyMap<string, { readonly before: string | null; readonly left: boolean }>
  readonly members: ReadonlyMap<string, string | null>
}

function mergeSteps(steps: readonly SceneStep[]): Touched {
  const objects = new Map<string, { before: string | null; left: boolean }>()
  const members = new Map<string, string | null>()
  for (const step of steps) {
    if (step.kind === 'member') {
      if (!members.has(step.name)) members.set(step.name, step.before)
      continue
    }
    const known = objects.get(step.id) ?? { before: step.before, left: false }
    objects.set(step.id, known)
    if (step.after === null) known.left = true
  }
  return { objects, members }
}

function omissionsOf(
  steps: readonly SceneStep[],
  touched: Touched,
  scene: SceneObjects,
): (change: JsonChange) => JsonChange | OmissionChange {
  const grownBy = steps.reduce(
    (sum, { kind, before, after }) =>
      kind === 'object' ? sum + Number(before === null) - Number(after === null) : sum,
    0,
  )
  const memberBefore = (name: string) => {
    const known = touched.members.get(name)
    return known === undefined ? scene.member(name) : known
  }
  const count = scene.ids.length
  return namedOmissions(
    omissionIn(count - grownBy, memberBefore),
    omissionIn(count, name => scene.member(name)),
  )
}

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => (made ??= { value: make() }).value
}

/** Undoes what objects left and joined. */
function idsBeforeSteps(ids: readonly string[], steps: readonly SceneStep[]): readonly string[] {
  const moves = steps.filter(({ before, after }) => before === null || after === null)
  const before = [...ids]
  for (const step of moves.toReversed()) {
    if (step.kind === 'member') continue
    if (step.after === null) before.splice(step.at, 0, step.id)
    else before.splice(step.at, 1)
  }
  return before
}

/** Texts of JSON; null: there is none. */
function changesAt(
  path: string,
  before: string | null,
  after: string | null,
  maxChanges: number,
): readonly JsonChange[] {
  if (before === after) return []
  if (after === null) return [{ path, kind: 'removed', before: JSON.parse(before ?? 'null') }]
  if (before === null) return [{ path, kind: 'added', after: JSON.parse(after) }]
  const { changes } = diffJson(JSON.parse(before), JSON.parse(after), maxChanges + 1)
  return changes.map(change => ({ ...change, path: path + change.path }))
}

function placeIn(path: string): number {
  return Number(path.slice('/objects/'.length))
}

function deltaOrReset(
  base: SceneRevision,
  current: SceneRevision,
  changes: readonly SceneChange[],
  truncated: boolean,
): string {
  const text = deltaText(base, current, changes, truncated)
  const worthBytes = Math.max(current.bytes, smallDeltaBytes)
  return Buffer.byteLength(text) > worthBytes ? sceneReset(current) : text
}

/** The base is not kept (any more): the reader takes the whole scene and goes on from there. */
export function sceneReset(current: SceneRevision): string {
  return JSON.stringify({ reset: true, revision: current.revision })
}

function deltaText(
  base: Endpoint,
  current: Endpoint,
  changes: readonly SceneChange[],
  truncated: boolean,
): string {
  const from =
    'checkpoint' in base ? { base_checkpoint: base.checkpoint } : { base_revision: base.revision }
  const to =
    'checkpoint' in current ? { checkpoint: current.checkpoint } : { revision: current.revision }
  return JSON.stringify({ ...from, ...to, changes, truncated })
}
