import { ServiceError } from '../../util/errors.ts'
import { applyChanges } from './json-apply.ts'
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
/** Attempts to read a scene and its revision while the scene changes quickly. */
const maxAttempts = 4

/** True for the URIs of the whole scene; a part of it is read anew at each change. */
export function isScene(uri: string): boolean {
  return uri === currentUri || uri.split('?', 1)[0] === deltaUri
}

/**
 * Follows the scene by its deltas. When the server no longer has the last known revision, reads the
 * whole scene and compares it.
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
  const changes = delta === null ? null : changesOf(delta.value, before.revision)
  const revision = delta === null ? null : revisionOf(delta.value)
  if (delta === null || changes === null || revision === null) return null
  const applied = applyChanges(before.value, changes)
  if (applied === null) return null
  const after: State = { kind: 'json', value: applied.value, revision, goneSince: delta.goneSince }
  const difference =
    changes.length === 0
      ? { kind: 'same' as const }
      : jsonDifference(changes, applied.labels, false)
  return { before, after, difference }
}

/** Reads the scene with its revision; retries when another scene was set in between. */
async function readScene(read: Read): Promise<State> {
  let state: State = { kind: 'none' }
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
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
  return delta === null ? null : revisionOf(delta.value)
}

type Delta = Pick<State & { kind: 'json' }, 'goneSince'> & { readonly value: JsonObject }

/** Null when the server has no deltas: other servers may use this scheme too. */
async function readDelta(read: Read, uri: string): Promise<Delta | null> {
  try {
    const state = await readState(read, uri)
    if (state.kind !== 'json' || !isJsonObject(state.value)) return null
    return { value: state.value, goneSince: state.goneSince }
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'request_refused') return null
    throw error
  }
}

function revisionOf({ revision }: JsonObject): number | null {
  return Number.isSafeInteger(revision) ? (revision as number) : null
}

/** Null when changes are missing or do not start at `since`. */
function changesOf(delta: JsonObject, since: number): readonly JsonChange[] | null {
  const { base_revision: base, changes, truncated } = delta
  if (base !== since || truncated !== false || !Array.isArray(changes)) return null
  const plain = changes.map(plainChange)
  return plain.every(isChange) ? plain : null
}

/** Objects that leave or join the list of objects are shown as removed or added. */
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

/** Returns whether the text of the scene resource says that no scene was sent. */
export function isPlaceholder(value: unknown): boolean {
  return isJsonObject(value) && value.status === 'no_snapshot'
}
