import { toRfc3339 } from '../../lib/util/time.ts'
import type { Limits } from '../../lib/config/limits.ts'
import { type BuiltIn, changedAt, freezeAll, jsonContents } from './built-in.ts'
import { ResourceNotFound } from './errors.ts'
import { KeptAnswers } from './kept-answers.ts'
import type { Content, Descriptor, Template } from './producer.ts'
import { countParameter, onlyParameters } from './query-parameters.ts'
import type { ResourceUri } from './resource-uri.ts'
import type { SceneRevision, SceneState, ShownApplication } from './scene-state.ts'
import { diffJson, type JsonChange } from '../../lib/util/json-diff.ts'
import { isJsonObject } from '../../lib/util/json.ts'

export const sceneCurrentUri = 'scene://current'
export const sceneDeltaUri = 'scene://delta'

const templates: readonly Template[] = freezeAll([
  {
    uriTemplate: 'scene://delta{?since}',
    name: 'Scene changes since a revision',
    title: 'Scene changes since a revision',
    description: 'What changed in the scene since revision `since`',
    mimeType: 'application/json',
    annotations: { audience: ['assistant'], priority: 0.6 },
  },
])

const unsent = placeholder(
  'the application has sent no scene; subscribe to scene://current to hear when it does',
)
const withdrawn = placeholder(
  'the scene was withdrawn; subscribe to scene://current to hear when there is one again',
)

type Meta = Readonly<Record<string, unknown>>

/** `scene://current` and `scene://delta`. */
export class SceneProducer implements BuiltIn {
  readonly #state: SceneState
  readonly #maxChanges: number
  readonly #deltas: KeptAnswers
  #version = -1
  #contents: readonly Content[] = []
  #meta: Meta = {}
  #listedRevision = -1
  #descriptors: readonly Descriptor[] = []

  constructor(
    state: SceneState,
    limits: Pick<Limits, 'maxSceneChanges' | 'maxKeptAnswers' | 'maxKeptAnswerBytes'>,
  ) {
    this.#state = state
    this.#maxChanges = limits.maxSceneChanges
    this.#deltas = new KeptAnswers(limits)
  }

  /** Made when asked for after a change, so that changing the scene costs nothing here. */
  list(): readonly Descriptor[] {
    const { current } = this.#state
    if (current.revision !== this.#listedRevision) {
      this.#descriptors = describe(current)
      this.#listedRevision = current.revision
    }
    return this.#descriptors
  }

  templates(): readonly Template[] {
    return templates
  }

  /** Revisions that `since` may name, newest first. */
  complete(variable: string, prefix: string): readonly string[] {
    if (variable !== 'since') return []
    return this.#state.revisions
      .map(String)
      .filter(text => text.startsWith(prefix))
      .reverse()
  }

  checkParameters(uri: ResourceUri): void {
    if (uri.path === 'current') onlyParameters(uri, [])
    if (uri.path === 'delta') sinceParameter(uri)
  }

  read(uri: ResourceUri): readonly Content[] {
    switch (uri.path) {
      case 'current':
        return this.#current(uri)
      case 'delta':
        return this.#delta(uri)
      default:
        throw new ResourceNotFound(uri.text)
    }
  }

  #current(uri: ResourceUri): readonly Content[] {
    onlyParameters(uri, [])
    const text = textOf(this.#state.current)
    const meta = this.#freshMeta()
    if (uri.text !== sceneCurrentUri) return jsonContents(uri.text, text, meta)
    return this.#contents
  }

  #delta(uri: ResourceUri): readonly Content[] {
    const since = sinceParameter(uri)
    const current = this.#state.current
    const meta = this.#freshMeta()
    if (current.text === null) return jsonContents(uri.text, textOf(current), meta)
    const base = since === undefined ? this.#state.previous : this.#state.find(since)
    if (base === undefined) return jsonContents(uri.text, sceneReset(current), meta)
    const build = () => sceneDelta(base, current, this.#maxChanges)
    return this.#deltas.get(this.#state.version, uri.text, build, meta)
  }

  /** Made once for each version of the state, together with the answer that most readers get. */
  #freshMeta(): Meta {
    const { version, current, application } = this.#state
    if (version !== this.#version) {
      this.#version = version
      this.#meta = Object.freeze({ 'service-cli/scene': sceneFacts(current, application) })
      this.#contents = jsonContents(sceneCurrentUri, textOf(current), this.#meta)
    }
    return this.#meta
  }
}

function placeholder(hint: string): string {
  return JSON.stringify({ status: 'no_snapshot', hint })
}

/** The scene, or the placeholder that stands for it. */
function textOf({ text, setAtMs }: SceneRevision): string {
  return text ?? (setAtMs === null ? unsent : withdrawn)
}

function sinceParameter(uri: ResourceUri): number | undefined {
  onlyParameters(uri, ['since'])
  return countParameter(uri, 'since')
}

/** What the text of a scene does not say of itself. Member names are those on the wire. */
function sceneFacts(
  { revision, setAtMs, bytes }: SceneRevision,
  application: ShownApplication | null,
): object {
  return {
    revision,
    set_at: setAtMs === null ? null : toRfc3339(setAtMs),
    size: bytes,
    application: application && {
      connected: application.connected,
      dcc_type: application.dccType,
      since: toRfc3339(application.sinceMs),
    },
  }
}

function describe(revision: SceneRevision): readonly Descriptor[] {
  const { text, bytes, setAtMs } = revision
  const changed = changedAt(setAtMs)
  return freezeAll([
    {
      uri: sceneCurrentUri,
      name: 'Current scene',
      title: 'Current scene',
      description:
        'The scene open in the application, as it last reported it; {"status":"no_snapshot"} before that',
      mimeType: 'application/json',
      size: text === null ? Buffer.byteLength(textOf(revision)) : bytes,
      annotations: { audience: ['user', 'assistant'], priority: 0.9, ...changed },
    },
    {
      uri: sceneDeltaUri,
      name: 'Scene changes',
      title: 'Scene changes',
      description:
        'What changed in the scene since the revision before, or since the revision named by ?since=N',
      mimeType: 'application/json',
      annotations: { audience: ['assistant'], priority: 0.6, ...changed },
    },
  ])
}

/** Up to this size a delta is worth reading even where the whole scene is smaller. */
const smallDeltaBytes = 1024

/**
 * The payload of `scene://delta`: how the scene went from `base` to `current`. A revision
 * without a scene counts as an empty object, so all members of the first scene are `added`.
 * A delta larger than the scene is a reset: reading the scene again costs less.
 */
function sceneDelta(base: SceneRevision, current: SceneRevision, maxChanges: number): string {
  if (base.revision === current.revision) return deltaText(base, current, [], false)
  const [before, after] = [parse(base), parse(current)]
  const { changes, truncated } = diffJson(before, after, maxChanges)
  const text = deltaText(base, current, namedOmissions(changes, before, after), truncated)
  const worthBytes = Math.max(current.bytes, smallDeltaBytes)
  return Buffer.byteLength(text) > worthBytes ? sceneReset(current) : text
}

/** The base is not kept (any more): the reader takes the whole scene and goes on from there. */
function sceneReset(current: SceneRevision): string {
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
  const [wasOmitted, isOmitted] = [omissionOf(before), omissionOf(after)]
  return changes.map(change => {
    if (!objectPath.test(change.path)) return change
    if (change.kind === 'removed' && isOmitted(idOf(change.before))) {
      return { ...change, kind: 'omitted' }
    }
    if (change.kind === 'added' && wasOmitted(idOf(change.after))) {
      return { ...change, kind: 'listed' }
    }
    return change
  })
}

const objectPath = /^\/objects\/\d+$/

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

function parse(revision: SceneRevision): unknown {
  return revision.text === null ? {} : JSON.parse(revision.text)
}
