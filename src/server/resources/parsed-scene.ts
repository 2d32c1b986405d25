import type { JsonObject } from '../../lib/util/json.ts'
import type { SceneState } from './scene-state.ts'
import type { SceneStep } from '../../lib/host-link/scene-objects.ts'

/**
 * The scene as a value, for readers of parts. A patch costs what it changed. Given up under memory
 * pressure, and made again.
 */
export class ParsedScene {
  readonly #state: Pick<SceneState, 'current' | 'find' | 'patchesSince'>
  #kept: { readonly revision: number; readonly scene: WeakRef<JsonObject> } | undefined

  constructor(state: Pick<SceneState, 'current' | 'find' | 'patchesSince'>) {
    this.#state = state
  }

  /** Only for a state that has a scene. Holds until the next call. */
  get value(): JsonObject {
    const { current } = this.#state
    const scene = this.#upToDate() ?? JSON.parse(current.text ?? '{}')
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
  const value: unknown = step.after === null ? undefined : JSON.parse(step.after)
  if (step.kind === 'member') {
    if (value === undefined) delete scene[step.name]
    else scene[step.name] = value
    return
  }
  const objects = scene.objects as unknown[]
  if (value === undefined) objects.splice(step.at, 1)
  else objects[step.at] = value
}
