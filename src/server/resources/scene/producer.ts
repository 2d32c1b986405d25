import { type SchemeProducer, jsonContents } from '../scheme-producer.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../errors.ts'
import { arrayOf, isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import type { JsonDifferences } from '../../../lib/mcp/json-diff.ts'
import { KeptAnswers } from '../kept-answers.ts'
import type { Content, Descriptor, Template } from '../producer.ts'
import { integerParameter, onlyParameters } from '../query-parameters.ts'
import type { ResourceUri } from '../resource-uri.ts'
import { changesBetween, isPartial, parseScene, patchedChanges, takeStep } from './changes.ts'
import { parseSceneQuery, sceneValues, selectPart } from './query.ts'
import {
  checkpointDescriptors,
  checkpointsUri,
  describeScene,
  sceneCurrentUri,
  sceneFacts,
  sceneTemplates,
  sceneText,
  templatesWithCheckpoints,
} from './listing.ts'
import type { SceneState } from './state.ts'
import { summariseScene } from './summary.ts'

/** What the scene has now. */
export interface SceneNow {
  readonly objects: readonly JsonObject[]
  /** Whether the scene may have objects that it does not list. */
  readonly isPartial: boolean
}

/** Changes listed in one delta. */
const maxChanges = 1000
const unchanged: JsonDifferences = { changes: [], truncated: false }

/** The checkpoints of the open document, which the folder of checkpoints implements. */
export interface CheckpointSource {
  /** The oldest first. */
  list(): Promise<readonly { readonly name: string }[]>
  /** The text of the scene. Rejects with `resource_not_found`. */
  find(name: string): Promise<string>
  /** What changed between the texts of two scenes. */
  compare(scenes: {
    base: string
    current: string
    maxChanges: number
    targets: []
  }): Promise<JsonDifferences>
  /** Sets the listener of changes. */
  onChange(listener: () => void): void
}

/** `scene://current`, `scene://delta` and `scene://checkpoints`. */
export class SceneProducer implements SchemeProducer {
  readonly #state: SceneState
  readonly #checkpoints: CheckpointSource | undefined
  /** Parts and deltas. */
  readonly #answers = new KeptAnswers()
  /** The scene as a value, for readers of parts. */
  #parsed: { readonly revision: number; readonly scene: JsonObject } | undefined
  #version = -1
  #contents: readonly Content[] | undefined
  #meta: Content['_meta'] = {}
  #listedRevision = -1
  #descriptors: readonly Descriptor[] = []

  constructor(state: SceneState, checkpoints?: CheckpointSource) {
    this.#state = state
    this.#checkpoints = checkpoints
  }

  /** Made when asked for after a change, so that changing the scene costs nothing here. */
  list(): readonly Descriptor[] {
    const { current } = this.#state
    if (current.revision !== this.#listedRevision) {
      const checkpoints = this.#checkpoints === undefined ? [] : checkpointDescriptors
      this.#descriptors = Object.freeze([...describeScene(this.#state), ...checkpoints])
      this.#listedRevision = current.revision
    }
    return this.#descriptors
  }

  templates(): readonly Template[] {
    return this.#checkpoints === undefined ? sceneTemplates : templatesWithCheckpoints
  }

  /** Names of checkpoints, the newest first, and values that the present scene has. */
  async complete(variable: string, prefix: string): Promise<readonly string[]> {
    const isPast = variable === 'since' || variable === 'until'
    const kept = isPast ? ((await this.#checkpoints?.list()) ?? []) : []
    const scene = this.#state.current.hasScene ? this.#scene : {}
    const values = isPast ? kept.map(({ name }) => name).reverse() : sceneValues(scene, variable)
    return values.filter(value => value.startsWith(prefix))
  }

  /** For notes: what of the scene they were about is still there. */
  get now(): SceneNow {
    const scene = this.#state.current.hasScene ? this.#scene : {}
    const { objects } = scene
    return {
      objects: arrayOf(objects).filter(isJsonObject),
      isPartial: !Array.isArray(objects) || isPartial(scene),
    }
  }

  checkParameters(uri: ResourceUri): void {
    this.#answerOf(uri)
  }

  /** Waits for the application, where it is asked for its newest scene. */
  read(uri: ResourceUri): readonly Content[] | Promise<readonly Content[]> {
    const answer = this.#answerOf(uri)
    return this.#state.refreshed()?.then(answer) ?? answer()
  }

  /** Throws for an invalid parameter at once, and for an unknown path when it is called. */
  #answerOf(uri: ResourceUri): () => readonly Content[] | Promise<readonly Content[]> {
    if (uri.path === 'current') return this.#current(uri)
    if (uri.path === 'delta') return this.#delta(uri)
    if (uri.path === 'checkpoints') onlyParameters(uri, [])
    return () => {
      const source = uri.path === 'checkpoints' ? this.#checkpoints : undefined
      if (source === undefined) throw new ResourceNotFound(uri.text)
      return source
        .list()
        .then(checkpoints => jsonContents(checkpointsUri, JSON.stringify({ checkpoints })))
    }
  }

  #current(uri: ResourceUri): () => readonly Content[] {
    const query = parseSceneQuery(uri)
    const build = () =>
      query === 'summary'
        ? summariseScene(this.#scene, this.#state.application?.facts)
        : JSON.stringify(selectPart(this.#scene, query!))
    return () => {
      const { current, version } = this.#state
      const meta = this.#freshMeta()
      if (current.hasScene && query !== null) {
        return this.#answers.get(version, uri.text, build, meta)
      }
      // The identical contents for most readers, as long as the version stays.
      const whole = () => jsonContents(uri.text, sceneText(this.#state), meta)
      return uri.text === sceneCurrentUri ? (this.#contents ??= whole()) : whole()
    }
  }

  #delta(uri: ResourceUri): () => readonly Content[] | Promise<readonly Content[]> {
    const { since, until, run = this.#state.run } = this.#deltaParameters(uri)
    if (typeof since === 'string') return () => this.#sinceCheckpoint(uri, since, until)
    return () => {
      const { current, version, run: ownRun } = this.#state
      const meta = this.#freshMeta()
      if (!current.hasScene) return jsonContents(uri.text, sceneText(this.#state), meta)
      const { revision } = current
      const build = () => {
        const base = since ?? revision - 1
        // The application may have had all of its first scene before: nothing of it is called added.
        const isFirst = since === undefined && base === 0
        const found = run === ownRun && !isFirst ? this.#changesSince(base) : undefined
        if (found === undefined) {
          // The reader takes the whole scene and goes on from there.
          const first = 'it is the first scene of this run of the server'
          const reason = isFirst ? first : this.#state.whyUnknown(base, run)
          return JSON.stringify({ reset: true, run: ownRun, revision, reason })
        }
        return JSON.stringify({ run: ownRun, base_revision: base, revision, ...found })
      }
      return this.#answers.get(version, uri.text, build, meta)
    }
  }

  /** Undefined: that revision is not kept. One without a scene counts as an empty object. */
  #changesSince(base: number): JsonDifferences | undefined {
    if (base === this.#state.current.revision) return unchanged
    const patches = this.#state.patchesSince(base)
    if (patches !== null) return patchedChanges(patches, maxChanges)
    const before = this.#state.valueAt(base)
    return before && changesBetween(before, this.#scene, maxChanges)
  }

  async #sinceCheckpoint(
    uri: ResourceUri,
    since: string,
    until: string | undefined,
  ): Promise<readonly Content[]> {
    const checkpoints = this.#checkpoints!
    const base = await checkpoints.find(since)
    const end = until === undefined ? null : await checkpoints.find(until)
    const { current, run } = this.#state
    const text = end ?? sceneText(this.#state)
    if (end === null && !current.hasScene) return jsonContents(uri.text, text, this.#freshMeta())
    const to = end === null ? { run, revision: current.revision } : { checkpoint: until }
    const compared = { base, current: text, maxChanges, targets: [] as [] }
    const { changes, truncated } = await checkpoints.compare(compared)
    const payload = { base_checkpoint: since, ...to, changes, truncated }
    return jsonContents(uri.text, JSON.stringify(payload), this.#freshMeta())
  }

  /** `since` is a revision, or the name of a checkpoint, which has a letter. */
  #deltaParameters(uri: ResourceUri) {
    onlyParameters(uri, ['since', 'run', 'until'])
    const [since = '', run, until] = ['since', 'run', 'until'].map(name => uri.query.get(name))
    if (this.#checkpoints !== undefined && /\p{L}/u.test(since)) return { since, run, until }
    if (until !== undefined) {
      throw new ResourceUriInvalid(
        'query parameter "until" needs "since" with the name of a checkpoint',
      )
    }
    return { since: integerParameter(uri, 'since'), run }
  }

  /** Only for a state that has a scene. Holds until the next call. A patch costs what it changed. */
  get #scene(): JsonObject {
    const { current } = this.#state
    const { revision, scene: known } = this.#parsed ?? {}
    if (known !== undefined && revision === current.revision) return known
    const patches = revision === undefined ? null : this.#state.patchesSince(revision)
    const scene = patches && known ? known : parseScene(this.#state.text)
    for (const step of patches?.steps ?? []) takeStep(scene, step, step.before, step.after)
    this.#parsed = { revision: current.revision, scene }
    return scene
  }

  /** Made once for each version of the state. */
  #freshMeta(): Content['_meta'] {
    const { version } = this.#state
    if (version !== this.#version) {
      this.#version = version
      this.#meta = Object.freeze({ 'service-cli/scene': sceneFacts(this.#state) })
      this.#contents = undefined
    }
    return this.#meta
  }
}
