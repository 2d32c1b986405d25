import { toRfc3339 } from '../../lib/util/time.ts'
import type { Limits } from '../../lib/config/limits.ts'
import { type BuiltIn, changedAt, freezeAll, jsonContents } from './built-in.ts'
import { ResourceNotFound, ResourceUriInvalid } from './errors.ts'
import { isJsonObject } from '../../lib/util/json.ts'
import { KeptAnswers } from './kept-answers.ts'
import { chain, type MaybePromise } from './maybe-promise.ts'
import { ParsedScene } from './parsed-scene.ts'
import type { Content, Descriptor, Template } from './producer.ts'
import type { CheckpointSource } from './checkpoint-source.ts'
import { countParameter, onlyParameters } from './query-parameters.ts'
import type { ResourceUri } from './resource-uri.ts'
import { namedDelta, patchedDelta, sceneDelta, sceneReset } from './scene-delta.ts'
import { parseSceneQuery, sceneParameters, sceneValues, selectPart } from './scene-query.ts'
import type { SceneRevision } from './scene-revision.ts'
import type { SceneState } from './scene-state.ts'
import { summariseScene } from './scene-summary.ts'

export const sceneCurrentUri = 'scene://current'
export const sceneDeltaUri = 'scene://delta'
export const checkpointsUri = 'scene://checkpoints'

const sceneSummaryUri = 'scene://current?view=summary'

/** From this size on readers are told of the summary. */
const largeSceneBytes = 50 * 1024

/** What the scene has now. */
export interface SceneNow {
  readonly revision: number
  readonly frame: number | null
  /** Names of the objects by id. */
  readonly names: ReadonlyMap<string, string>
}

const templates: readonly Template[] = freezeAll([
  {
    uriTemplate: `scene://current{?${sceneParameters.join(',')}}`,
    name: 'Part of the scene',
    title: 'Part of the scene',
    description:
      'A part of the scene instead of all of it. Start with view=summary (at most 4 KB). ' +
      'Objects: type=light, name=*wheel*, ids=Cube,Lamp, where=visible:false, ' +
      'fields=name,translate, offset and limit for pages. ' +
      'Any other part: pointer=/render (JSON pointer), depth=1 to see its outline.',
    mimeType: 'application/json',
    annotations: { audience: ['assistant'], priority: 0.8 },
  },
  {
    uriTemplate: 'scene://delta{?since,until}',
    name: 'Scene changes since a revision',
    title: 'Scene changes since a revision',
    description:
      'What changed in the scene since `since`, up to now or to `until`: each a revision, or the ' +
      'name of a checkpoint where the server keeps them',
    mimeType: 'application/json',
    annotations: { audience: ['assistant'], priority: 0.6 },
  },
])

const checkpointsDescriptor: Descriptor = Object.freeze<Descriptor>({
  uri: checkpointsUri,
  name: 'Checkpoints of the scene',
  title: 'Checkpoints of the scene',
  description:
    'Scenes of the open document that people gave a name: scene://delta?since=NAME tells what changed since',
  mimeType: 'application/json',
  annotations: { audience: ['assistant', 'user'], priority: 0.4 },
})

const unsent = placeholder(
  'the application has sent no scene yet; wait for a change of scene://current',
)
const withdrawn = placeholder('the scene was withdrawn; wait for a change of scene://current')

type Meta = Readonly<Record<string, unknown>>

const maxCompleted = 1000

/** `scene://current` and `scene://delta`. */
export class SceneProducer implements BuiltIn {
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
    limits: Pick<Limits, 'maxSceneChanges' | 'maxKeptAnswers' | 'maxKeptAnswerBytes'>,
    checkpoints?: CheckpointSource,
  ) {
    this.#state = state
    this.#checkpoints = checkpoints
    this.#maxChanges = limits.maxSceneChanges
    this.#deltas = new KeptAnswers(limits)
    this.#parts = new KeptAnswers(limits)
    this.#parsed = new ParsedScene(state)
  }

  /** Made when asked for after a change, so that changing the scene costs nothing here. */
  list(): readonly Descriptor[] {
    const { current } = this.#state
    if (current.revision !== this.#listedRevision) {
      const checkpoints = this.#checkpoints === undefined ? [] : [checkpointsDescriptor]
      this.#descriptors = Object.freeze([...describe(current), ...checkpoints])
      this.#listedRevision = current.revision
    }
    return this.#descriptors
  }

  templates(): readonly Template[] {
    return templates
  }

  /**
   * Values that the present scene has; for `since` and `until` the checkpoints and the kept
   * revisions, newest first.
   */
  complete(variable: string, prefix: string): MaybePromise<readonly string[]> {
    const matching = (values: readonly string[]) =>
      values.filter(value => value.startsWith(prefix)).slice(0, maxCompleted)
    if (variable === 'since' || variable === 'until') {
      const revisions = this.#state.revisions.map(String).reverse()
      return chain(this.#checkpoints?.list() ?? [], kept =>
        matching([...kept.map(({ name }) => name).reverse(), ...revisions]),
      )
    }
    if (!this.#state.current.hasScene) return []
    return matching(sceneValues(this.#parsed.value, variable))
  }

  /** For notes: what of the scene they were about is still there. */
  get now(): SceneNow {
    const { hasScene, revision } = this.#state.current
    const { objects, time } = hasScene ? this.#parsed.value : {}
    const frame = isJsonObject(time) ? time.frame : null
    const named = Array.isArray(objects) ? objects.filter(isJsonObject) : []
    return {
      revision,
      frame: typeof frame === 'number' ? frame : null,
      names: new Map(named.map(({ id, name = id }) => [String(id), String(name)])),
    }
  }

  checkParameters(uri: ResourceUri): void {
    if (uri.path === 'current') parseSceneQuery(uri)
    if (uri.path === 'delta') this.#deltaParameters(uri)
    if (uri.path === 'checkpoints') onlyParameters(uri, [])
  }

  /** Waits for the application, where it is asked for its newest scene. */
  read(uri: ResourceUri): MaybePromise<readonly Content[]> {
    this.checkParameters(uri)
    return chain(this.#state.refreshed() ?? undefined, () => this.#read(uri))
  }

  #read(uri: ResourceUri): MaybePromise<readonly Content[]> {
    switch (uri.path) {
      case 'current':
        return this.#current(uri)
      case 'delta':
        return this.#delta(uri)
      case 'checkpoints':
        if (this.#checkpoints === undefined) throw new ResourceNotFound(uri.text)
        return chain(this.#checkpoints.list(), checkpoints =>
          jsonContents(checkpointsUri, JSON.stringify({ checkpoints })),
        )
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
    if (uri !== sceneCurrentUri) return jsonContents(uri, textOf(current), meta)
    return (this.#contents ??= jsonContents(uri, textOf(current), meta))
  }

  #delta(uri: ResourceUri): MaybePromise<readonly Content[]> {
    const { since, until } = this.#deltaParameters(uri)
    const current = this.#state.current
    const meta = this.#freshMeta()
    if (until !== undefined || typeof since === 'string') {
      return this.#between(uri, since as number | string, until ?? current)
    }
    if (!current.hasScene) return jsonContents(uri.text, textOf(current), meta)
    const base = since === undefined ? this.#state.previous : this.#state.find(since)
    if (base === undefined) return jsonContents(uri.text, sceneReset(current), meta)
    const patches = this.#state.patchesSince(base.revision)
    const build = () =>
      patches === null
        ? sceneDelta(base, current, this.#maxChanges)
        : patchedDelta(base, current, patches, this.#maxChanges)
    return this.#deltas.get(this.#state.version, uri.text, build, meta)
  }

  async #between(
    uri: ResourceUri,
    since: number | string,
    until: number | string | SceneRevision,
  ): Promise<readonly Content[]> {
    const base = await this.#endpoint(since)
    const end = typeof until === 'object' ? until : await this.#endpoint(until)
    if (!end.hasScene) return jsonContents(uri.text, textOf(end), this.#freshMeta())
    return jsonContents(uri.text, namedDelta(base, end, this.#maxChanges), this.#freshMeta())
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
      throw new ResourceUriInvalid('query parameter "until" goes with "since"')
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

function placeholder(hint: string): string {
  return JSON.stringify({ status: 'no_snapshot', hint })
}

/** The scene, or the placeholder that stands for it. */
function textOf({ text, setAtMs }: SceneRevision): string {
  return text ?? (setAtMs === null ? unsent : withdrawn)
}

/** What the text of a scene does not say of itself. Member names are those on the wire. */
function sceneFacts({ current, application, asOfMs }: SceneState): object {
  const { revision, setAtMs, bytes } = current
  return {
    revision,
    set_at: setAtMs === null ? null : toRfc3339(setAtMs),
    size: bytes,
    ...(bytes > largeSceneBytes && { summary_uri: sceneSummaryUri }),
    application: application && {
      connected: application.connected,
      dcc_type: application.dccType,
      since: toRfc3339(application.sinceMs),
      ...(asOfMs !== null && { as_of: toRfc3339(asOfMs) }),
    },
  }
}

function describe(revision: SceneRevision): readonly Descriptor[] {
  const { hasScene, bytes, setAtMs } = revision
  const changed = changedAt(setAtMs)
  return freezeAll([
    {
      uri: sceneCurrentUri,
      name: 'Current scene',
      title: 'Current scene',
      description:
        'The scene open in the application, as it last reported it; {"status":"no_snapshot"} before that',
      mimeType: 'application/json',
      size: hasScene ? bytes : Buffer.byteLength(textOf(revision)),
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
