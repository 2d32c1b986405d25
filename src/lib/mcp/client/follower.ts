import { createHash } from 'node:crypto'
import { ServiceError } from '../../util/errors.ts'
import { applyChanges } from './json-apply.ts'
import { diffJson, type JsonChange } from '../../util/json-diff.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../util/json.ts'
import { asText } from '../../util/text.ts'
import type { Contents } from './ask.ts'

/** The last known state of a resource. */
export type State =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'json'
      readonly value: unknown
      readonly revision: number | null
      /** Since when the application of a scene is gone (RFC 3339); null while it is there. */
      readonly goneSince: string | null
    }
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'binary'
      readonly bytes: number
      readonly mimeType: string | null
      readonly digest: string
    }

/** The difference between two states. */
export type Difference =
  | {
      readonly kind: 'json'
      readonly changes: readonly JsonChange[]
      /** A readable path for each change. */
      readonly labels: readonly string[]
      /** More changes exist than are listed. */
      readonly truncated: boolean
    }
  | { readonly kind: 'text'; readonly before: string; readonly after: string }
  /** Not comparable: the resource appeared, disappeared or changed its form. */
  | { readonly kind: 'replaced' }
  | { readonly kind: 'same' }

export interface Look {
  readonly before: State
  readonly after: State
  readonly difference: Difference
  /** Of a log: entries that came and were pushed out between the two reads. */
  readonly missed?: number
}

export type Read = (uri: string) => Promise<readonly Contents[]>

/** Remembers the state of a resource to find what changed. */
export interface Follower {
  /** Reads the initial state. */
  start(read: Read): Promise<State>
  /** Reads the resource and compares it with the last state. */
  look(read: Read): Promise<Look>
}

const maxChanges = 1000
const maxDepth = 200

/** For any resource: reads the whole content each time. */
export function createFollower(uri: string): Follower {
  let state: State = { kind: 'none' }
  return {
    async start(read) {
      return (state = await readState(read, uri))
    },
    async look(read) {
      const before = state
      state = await readState(read, uri)
      return { before, after: state, difference: compare(before, state) }
    },
  }
}

export async function readState(read: Read, uri: string): Promise<State> {
  try {
    return stateOf(await read(uri))
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'resource_not_found')
      return { kind: 'none' }
    throw error
  }
}

export function compare(before: State, after: State): Difference {
  if (before.kind === 'none' && after.kind === 'none') return { kind: 'same' }
  if (before.kind === 'json' && after.kind === 'json') {
    const { changes, truncated } = diffJson(before.value, after.value, maxChanges)
    if (changes.length === 0) return { kind: 'same' }
    return jsonDifference(changes, applyChanges(before.value, changes)?.labels, truncated)
  }
  if (before.kind === 'text' && after.kind === 'text') {
    if (before.text === after.text) return { kind: 'same' }
    return { kind: 'text', before: before.text, after: after.text }
  }
  const untouched =
    before.kind === 'binary' && after.kind === 'binary' && before.digest === after.digest
  return untouched ? { kind: 'same' } : { kind: 'replaced' }
}

export function jsonDifference(
  changes: readonly JsonChange[],
  labels: readonly string[] | undefined,
  truncated: boolean,
): Difference {
  const shown = labels ?? changes.map(({ path }) => path.slice(1))
  return { kind: 'json', changes, labels: shown, truncated }
}

/** Several contents of one resource are compared as one JSON list. */
function stateOf(contents: readonly Contents[]): State {
  const [only, ...others] = contents
  if (only === undefined) return { kind: 'none' }
  if (others.length > 0) {
    const value = contents.map(one =>
      one.kind === 'text'
        ? { id: one.uri, text: one.text }
        : { id: one.uri, bytes: one.bytes.length, sha256: digestOf(one.bytes) },
    )
    return { kind: 'json', value, revision: null, goneSince: null }
  }
  if (only.kind === 'binary') {
    const { bytes, mimeType } = only
    return { kind: 'binary', bytes: bytes.length, mimeType, digest: digestOf(bytes) }
  }
  const parsed = isJsonType(only.mimeType) ? parseJson(only.text, maxDepth) : null
  if (parsed?.ok) {
    return { kind: 'json', value: parsed.value, revision: null, goneSince: goneSince(only.meta) }
  }
  return { kind: 'text', text: only.text }
}

/** Why a scene may be older than what its application shows; null when it is not. */
export function staleReason(meta: JsonObject | undefined): string | null {
  const since = goneSince(meta)
  if (since !== null) {
    const left = sceneOf(meta).size === 0 ? 'it left no scene' : 'this is its last scene'
    return `the application is gone since ${since}; ${left}`
  }
  const { as_of: asOf } = applicationOf(meta)
  if (asOf === undefined) return null
  return `the application does not confirm the scene now; this is its scene as of ${asText(asOf)}`
}

function goneSince(meta: JsonObject | undefined): string | null {
  const { connected, since } = applicationOf(meta)
  return connected === false ? asText(since) : null
}

function applicationOf(meta: JsonObject | undefined): JsonObject {
  const { application } = sceneOf(meta)
  return isJsonObject(application) ? application : {}
}

function sceneOf(meta: JsonObject | undefined): JsonObject {
  const scene = meta?.['service-cli/scene']
  return isJsonObject(scene) ? scene : {}
}

export function isJsonType(mimeType: string | null): boolean {
  return /^[\w.+-]+\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(mimeType ?? '')
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
