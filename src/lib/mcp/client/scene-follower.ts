import { ServiceError } from '../../util/errors.ts'
import { applyChanges } from '../../util/json-apply.ts'
import type { JsonChange } from '../../util/json-diff.ts'
import { type JsonObject, isJsonObject } from '../../util/json.ts'
import {
  compare,
  type Follower,
  jsonDifference,
  type Look,
  type Read,
  readState,
  type State,
} from './follower.ts'

const currentUri = 'scene://current'
const deltaUri = 'scene://delta'
/** At so many changes a second a scene and its revision are read together only now and then. */
const attempts = 4

/** Is it the scene of an application that is watched? */
export function isScene(uri: string): boolean {
  const [path] = uri.split('?', 1)
  return path === currentUri || path === deltaUri
}

/**
 * Of a scene: asks what changed since the revision that it knows. The server remembers only a few
 * of them: where it has forgotten that one, the scene is read whole and compared here.
 */
export function createSceneFollower(): Follower {
  let state: State = { kind: 'none' }
  return {
    async start(read) {
      return (state = await readScene(read))
    },
    async look(read): Promise<Look> {
      const before = state
      const step = await readStep(read, before)
      state = step?.after ?? (await readScene(read))
      if (step !== null) return step
      return { before, after: state, difference: compare(before, state) }
    },
  }
}

async function readStep(read: Read, before: State): Promise<Look | null> {
  if (before.kind !== 'json' || before.revision === null) return null
  const delta = await readDelta(read, `${deltaUri}?since=${before.revision}`)
  const changes = delta === null ? null : changesOf(delta, before.revision)
  const revision = delta === null ? null : revisionOf(delta)
  if (changes === null || revision === null) return null
  const applied = applyChanges(before.value, changes)
  if (applied === null) return null
  const after: State = { kind: 'json', value: applied.value, revision }
  const difference =
    changes.length === 0
      ? { kind: 'same' as const }
      : jsonDifference(changes, applied.labels, false)
  return { before, after, difference }
}

/** The scene with its revision: no other one was set while the two were read. */
async function readScene(read: Read): Promise<State> {
  let state: State = { kind: 'none' }
  for (let attempt = 0; attempt < attempts; attempt++) {
    const earlier = await readRevision(read)
    state = await readState(read, currentUri)
    if (state.kind !== 'json' || isPlaceholder(state.value)) return { kind: 'none' }
    const later = await readRevision(read)
    if (later === null) return state
    if (later === earlier) return { ...state, revision: later }
  }
  return state
}

async function readRevision(read: Read): Promise<number | null> {
  const delta = await readDelta(read, deltaUri)
  return delta === null ? null : revisionOf(delta)
}

/** Null where there is none: this scheme may be served by others, too. */
async function readDelta(read: Read, uri: string): Promise<JsonObject | null> {
  try {
    const state = await readState(read, uri)
    return state.kind === 'json' && isJsonObject(state.value) ? state.value : null
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'request_refused') return null
    throw error
  }
}

function revisionOf({ revision }: JsonObject): number | null {
  return Number.isSafeInteger(revision) ? (revision as number) : null
}

/** Null when they are not all there, or do not begin where we are. */
function changesOf(delta: JsonObject, since: number): readonly JsonChange[] | null {
  const { base_revision: base, changes, truncated } = delta
  if (base !== since || truncated !== false || !Array.isArray(changes)) return null
  const plain = changes.map(plainChange)
  return plain.every(isChange) ? plain : null
}

/** An object that left or joined the list of objects is shown so, though it stays in the scene. */
function plainChange(change: unknown): unknown {
  if (!isJsonObject(change)) return change
  if (change.kind === 'omitted') return { ...change, kind: 'removed' }
  return change.kind === 'listed' ? { ...change, kind: 'added' } : change
}

function isChange(value: unknown): value is JsonChange {
  if (!isJsonObject(value) || typeof value.path !== 'string') return false
  const has = (name: string) => Object.hasOwn(value, name)
  switch (value.kind) {
    case 'added':
      return has('after')
    case 'removed':
      return has('before')
    case 'changed':
      return has('before') && has('after')
    default:
      return false
  }
}

function isPlaceholder(value: unknown): boolean {
  return isJsonObject(value) && value.status === 'no_snapshot'
}
