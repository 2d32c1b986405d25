import type { ResourceLimits } from '../limits.ts'
import { type SchemeProducer, jsonContents } from '../scheme-producer.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../errors.ts'
import { numberOf, parseExact } from '../../../lib/util/exact-json.ts'
import { isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import type { JsonDifferences } from '../../../lib/mcp/json-diff.ts'
import { asText } from '../../../lib/util/text.ts'
import { KeptAnswers } from '../kept-answers.ts'
import type { Content, Descriptor, Template } from '../producer.ts'
import type { CheckpointSource, NamedRevision } from '../checkpoint-source.ts'
import { countParameter, onlyParameters } from '../query-parameters.ts'
import type { ResourceUri } from '../resource-uri.ts'
import { changesBetween, omissionOf, parseScene, patchedChanges } from './changes.ts'
import { parseSceneQuery, sceneValues, selectPart } from './query.ts'
import {
  checkpointsDescriptor,
  checkpointsUri,
  describeScene,
  sceneCurrentUri,
  sceneFacts,
  sceneTemplates,
  sceneText,
} from './listing.ts'
import type { SceneRevision } from './revision.ts'
import type { SceneState } from './state.ts'
import { summariseScene } from './summary.ts'
import type { SceneStep } from '../../../lib/host-link/scene-objects.ts'

/** What the scene has now. */
export interface SceneNow {
  readonly revision: number
  readonly frame: number | null
  /** Names of the listed objects by id. */
  readonly names: ReadonlyMap<string, string>
  /** Ids of those that have a `uid`, by it. */
  readonly ids: ReadonlyMap<string, string>
  /** Whether the scene may have an object with this id that it does not list. */
  readonly mayOmit: (id: string) => boolean
}

type Meta = Readonly<Record<string, unknown>>

const maxCompleted = 1000
/** Up to this size a delta is worth reading even where the whole scene is smaller. */
const smallDeltaBytes = 1024

/** `scene://current` and `scene://delta`. */
export class SceneProducer implements SchemeProducer {
  readonly #state: SceneState
  readonly #maxChanges: number
  readonly #deltas: KeptAnswers
  readonly #parts: KeptAnswers
  readonly #parsed: ParsedScene
  readonly #checkpoints: CheckpointSource | undefined
  #version = -1
  #contents: readonly Content[] | undefined
  #meta: Meta = {}
  #listedRevision = -1
  #descriptors: readonly Descriptor[] = []

  constructor(
    state: SceneState,
    limits: Pick<ResourceLimits, 'maxSceneChanges'>,
    checkpoints?: CheckpointSource,
  ) {
    this.#state = state
    this.#checkpoints = checkpoints
    this.#maxChanges = limits.maxSceneChanges
    this.#deltas = new KeptAnswers()
    this.#parts = new KeptAnswers()
    this.#parsed = new ParsedScene(state)
  }

  /** Made when asked for after a change, so that changing the scene costs nothing here. */
  list(): readonly Descriptor[] {
    const { current } = this.#state
    if (current.revision !== this.#listedRevision) {
      const checkpoints = this.#checkpoints === undefined ? [] : [checkpointsDescriptor]
      this.#descriptors = Object.freeze([...describeScene(current), ...checkpoints])
      this.#listedRevision = current.revision
    }
    return this.#descriptors
  }

  templates(): readonly Template[] {
    return sceneTemplates
  }

  /**
   * Values that the present scene has; for `since` and `until` the checkpoints and the kept
   * revisions, newest first.
   */
  async complete(variable: string, prefix: string): Promise<readonly string[]> {
    const matching = (values: readonly string[]) =>
      values.filter(value => value.startsWith(prefix)).slice(0, maxCompleted)
    if (variable === 'since' || variable === 'until') {
      const revisions = this.#state.revisions.map(String).reverse()
      const kept = (await this.#checkpoints?.list()) ?? []
      return matching([...kept.map(({ name }) => name).reverse(), ...revisions])
    }
    if (!this.#state.current.hasScene) return []
    return matching(sceneValues(this.#parsed.value, variable))
  }

  /** For notes: what of the scene they were about is still there. */
  get now(): SceneNow {
    const { hasScene, revision } = this.#state.current
    const scene: JsonObject = hasScene ? this.#parsed.value : {}
    const { objects, time } = scene
    const frame = isJsonObject(time) ? numberOf(time.frame) : null
    const named = Array.isArray(objects) ? objects.filter(isJsonObject) : []
    return {
      revision,
      frame: frame ?? null,
      names: new Map(named.map(({ id, name }) => [asText(id ?? name), asText(name ?? id)])),
      ids: new Map(
        named.flatMap(({ uid, id }) => (uid == null ? [] : [[asText(uid), asText(id)]])),
      ),
      mayOmit: Array.isArray(objects) ? omissionOf(scene) : () => true,
    }
  }

  checkParameters(uri: ResourceUri): void {
    if (uri.path === 'current') parseSceneQuery(uri)
    if (uri.path === 'delta') this.#deltaParameters(uri)
    if (uri.path === 'checkpoints') onlyParameters(uri, [])
  }

  /** Waits for the application, where it is asked for its newest scene. */
  read(uri: ResourceUri): readonly Content[] | Promise<readonly Content[]> {
    this.checkParameters(uri)
    return this.#state.refreshed()?.then(() => this.#read(uri)) ?? this.#read(uri)
  }

  #read(uri: ResourceUri): readonly Content[] | Promise<readonly Content[]> {
    switch (uri.path) {
      case 'current':
        return this.#current(uri)
      case 'delta':
        return this.#delta(uri)
      case 'checkpoints':
        if (this.#checkpoints === undefined) throw new ResourceNotFound(uri.text)
        return this.#checkpoints
          .list()
          .then(checkpoints => jsonContents(checkpointsUri, JSON.stringify({ checkpoints })))
      default:
        throw new ResourceNotFound(uri.text)
    }
  }

  #current(uri: ResourceUri): readonly Content[] {
    const query = parseSceneQuery(uri)
    const { current, version } = this.#state
    const meta = this.#freshMeta()
    if (!current.hasScene || query === null) return this.#whole(uri.text, current, meta)
    const build = () =>
      query.view === 'summary'
        ? summariseScene(this.#parsed.value)
        : JSON.stringify(selectPart(this.#parsed.value, query))
    return this.#parts.get(version, uri.text, build, meta)
  }

  /** The identical contents for most readers, as long as the version stays. */
  #whole(uri: string, current: SceneRevision, meta: Meta): readonly Content[] {
    if (uri !== sceneCurrentUri) return jsonContents(uri, sceneText(current), meta)
    return (this.#contents ??= jsonContents(uri, sceneText(current), meta))
  }

  #delta(uri: ResourceUri): readonly Content[] | Promise<readonly Content[]> {
    const { since, until } = this.#deltaParameters(uri)
    const current = this.#state.current
    const meta = this.#freshMeta()
    if (until !== undefined || typeof since === 'string') {
      return this.#between(uri, since as number | string, until ?? current)
    }
    if (!current.hasScene) return jsonContents(uri.text, sceneText(current), meta)
    const base = since === undefined ? this.#state.previous : this.#state.find(since)
    if (base === undefined) {
      // It is not kept (any more): the reader takes the whole scene and goes on from there.
      const reset = { reset: true, revision: current.revision }
      return jsonContents(uri.text, JSON.stringify(reset), meta)
    }
    const patches = this.#state.patchesSince(base.revision)
    const build = () => {
      const found =
        patches === null ? this.#compared(base, current) : patchedChanges(patches, this.#maxChanges)
      return sceneDelta(base, current, found, Math.max(current.bytes, smallDeltaBytes))
    }
    return this.#deltas.get(this.#state.version, uri.text, build, meta)
  }

  async #between(
    uri: ResourceUri,
    since: number | string,
    until: number | string | SceneRevision,
  ): Promise<readonly Content[]> {
    const base = await this.#endpoint(since)
    const end = typeof until === 'object' ? until : await this.#endpoint(until)
    if (!end.hasScene) return jsonContents(uri.text, sceneText(end), this.#freshMeta())
    const changes =
      (await this.#checkpoints?.changes(base, end, this.#maxChanges)) ?? this.#compared(base, end)
    return jsonContents(uri.text, sceneDelta(base, end, changes), this.#freshMeta())
  }

  #compared(base: SceneRevision, until: SceneRevision): JsonDifferences {
    const isCurrent = until === this.#state.current
    const scene = isCurrent ? this.#parsed.value : parseScene(until.text)
    return changesBetween(parseScene(base.text), scene, this.#maxChanges)
  }

  async #endpoint(word: number | string): Promise<SceneRevision> {
    if (typeof word === 'string') return (this.#checkpoints as CheckpointSource).find(word)
    const revision = this.#state.find(word)
    if (revision !== undefined) return revision
    throw new ResourceUriInvalid(`revision ${word} is not kept`, {
      hint: 'name a newer revision or a checkpoint',
    })
  }

  /** Each a revision, or the name of a checkpoint, which has a letter. */
  #deltaParameters(uri: ResourceUri) {
    onlyParameters(uri, ['since', 'until'])
    const wordOf = (name: 'since' | 'until') => {
      const text = uri.query.get(name)
      const isName = text !== undefined && this.#checkpoints !== undefined && /\p{L}/u.test(text)
      return isName ? text : countParameter(uri, name)
    }
    const [since, until] = [wordOf('since'), wordOf('until')]
    if (since === undefined && until !== undefined) {
      throw new ResourceUriInvalid('query parameter "until" needs "since"')
    }
    return { since, until }
  }

  /** Made once for each version of the state. */
  #freshMeta(): Meta {
    const { version } = this.#state
    if (version !== this.#version) {
      this.#version = version
      this.#meta = Object.freeze({ 'service-cli/scene': sceneFacts(this.#state) })
      this.#contents = undefined
    }
    return this.#meta
  }
}

/**
 * The scene as a value, for readers of parts. A patch costs what it changed. Given up under memory
 * pressure, and made again.
 */
class ParsedScene {
  readonly #state: Pick<SceneState, 'current' | 'find' | 'patchesSince'>
  #kept: { readonly revision: number; readonly scene: WeakRef<JsonObject> } | undefined

  constructor(state: Pick<SceneState, 'current' | 'find' | 'patchesSince'>) {
    this.#state = state
  }

  /** Only for a state that has a scene. Holds until the next call. */
  get value(): JsonObject {
    const { current } = this.#state
    const scene = this.#upToDate() ?? (parseExact(current.text ?? '{}') as JsonObject)
    this.#kept = { revision: current.revision, scene: new WeakRef(scene) }
    return scene
  }

  #upToDate(): JsonObject | undefined {
    const { revision = -1, scene } = this.#kept ?? {}
    const known = scene?.deref()
    if (known === undefined || this.#state.current.revision === revision) return known
    if (this.#state.find(revision) === undefined) return undefined
    const patches = this.#state.patchesSince(revision)
    if (patches === null) return undefined
    for (const step of patches.steps) follow(known, step)
    return known
  }
}

function follow(scene: Record<string, unknown>, step: SceneStep): void {
  const value = step.after === null ? undefined : parseExact(step.after)
  if (step.kind === 'member') {
    const member = { value, configurable: true, enumerable: true, writable: true }
    if (value === undefined) delete scene[step.name]
    // Setting a member `__proto__` would change the prototype.
    else Object.defineProperty(scene, step.name, member)
    return
  }
  const objects = scene.objects as unknown[]
  if (value === undefined) objects.splice(step.at, 1)
  else objects[step.at] = value
}

/** A revision of this run, or a checkpoint, whose number is of another run perhaps. */
type Endpoint = SceneRevision | NamedRevision

/**
 * The payload of `scene://delta`: how the scene went from `base` to `until`. A revision without a
 * scene counts as an empty object. Changes of more than `maxBytes` are left out and summed up.
 */
function sceneDelta(
  base: Endpoint,
  until: Endpoint,
  { changes, truncated, summary }: JsonDifferences,
  maxBytes = Infinity,
): string {
  const from =
    'checkpoint' in base ? { base_checkpoint: base.checkpoint } : { base_revision: base.revision }
  const to = 'checkpoint' in until ? { checkpoint: until.checkpoint } : { revision: until.revision }
  const text = JSON.stringify({ ...from, ...to, changes, truncated, ...(truncated && { summary }) })
  if (Buffer.byteLength(text) <= maxBytes) return text
  let bytes = 0
  const fitting = changes.filter(change => {
    const size = Buffer.byteLength(JSON.stringify(change))
    if (bytes + size > maxBytes) return false
    bytes += size
    return true
  })
  return sceneDelta(base, until, { changes: fitting, truncated: true, summary })
}
