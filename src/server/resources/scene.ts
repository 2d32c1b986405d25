import type { Limits } from '../options.ts'
import { type BuiltIn, changedAt, freezeAll, jsonContents } from './built-in.ts'
import { ResourceNotFound } from './errors.ts'
import { KeptAnswers } from './kept-answers.ts'
import type { Content, Descriptor, Template } from './producer.ts'
import { countParameter } from './query-parameters.ts'
import type { ResourceUri } from './resource-uri.ts'
import { sceneDelta, sceneReset } from './scene-delta.ts'
import type { SceneRevision, SceneState } from './scene-state.ts'

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

const placeholder = JSON.stringify({
  status: 'no_snapshot',
  hint: 'the application has sent no scene; subscribe to scene://current to hear when it does',
})

/** `scene://current` and `scene://delta`. */
export class SceneProducer implements BuiltIn {
  readonly #state: SceneState
  readonly #maxChanges: number
  readonly #deltas: KeptAnswers
  #revision = -1
  #contents: readonly Content[] = []
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
    const { revision, text } = this.#state.current
    if (uri.text !== sceneCurrentUri) return jsonContents(uri.text, text ?? placeholder)
    if (revision !== this.#revision) {
      this.#contents = jsonContents(sceneCurrentUri, text ?? placeholder)
      this.#revision = revision
    }
    return this.#contents
  }

  #delta(uri: ResourceUri): readonly Content[] {
    const since = countParameter(uri, 'since')
    const current = this.#state.current
    if (current.text === null) return jsonContents(uri.text, placeholder)
    const base = since === undefined ? this.#state.previous : this.#state.find(since)
    if (base === undefined) return jsonContents(uri.text, sceneReset(current))
    return this.#deltas.get(current.revision, uri.text, () =>
      sceneDelta(base, current, this.#maxChanges),
    )
  }
}

function describe({ text, bytes, setAtMs }: SceneRevision): readonly Descriptor[] {
  const changed = changedAt(setAtMs)
  return freezeAll([
    {
      uri: sceneCurrentUri,
      name: 'Current scene',
      title: 'Current scene',
      description:
        'The scene open in the application, as it last reported it; {"status":"no_snapshot"} before that',
      mimeType: 'application/json',
      size: text === null ? Buffer.byteLength(placeholder) : bytes,
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
