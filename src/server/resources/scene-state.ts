import { type Clock, systemClock } from '../../lib/clock.ts'
import type { Limits } from '../options.ts'
import { type SceneLimits, checkSceneText, serialiseScene } from './scene-json.ts'

/** What was held at one revision; `text` is null when there was no scene. */
export interface SceneRevision {
  readonly revision: number
  readonly text: string | null
  readonly bytes: number
  /** Null for revision 0, which nobody set. */
  readonly setAtMs: number | null
}

type StateLimits = SceneLimits & Pick<Limits, 'maxSceneRevisions' | 'maxSceneRevisionBytes'>

/** The scene the application sent last, as JSON text, and the revisions before it. */
export class SceneState {
  readonly #limits: StateLimits
  readonly #onChange: () => void
  readonly #clock: Clock
  #current: SceneRevision = { revision: 0, text: null, bytes: 0, setAtMs: null }
  /** Oldest first, the current one last. */
  #kept: SceneRevision[] = [this.#current]
  #keptBytes = 0

  constructor(limits: StateLimits, onChange = () => {}, clock: Clock = systemClock) {
    this.#limits = limits
    this.#onChange = onChange
    this.#clock = clock
  }

  get current(): SceneRevision {
    return this.#current
  }

  /** The revision before the current one, as far as it is still kept. */
  get previous(): SceneRevision | undefined {
    return this.#kept.at(-2)
  }

  /** Oldest first. */
  get revisions(): readonly number[] {
    return this.#kept.map(kept => kept.revision)
  }

  find(revision: number): SceneRevision | undefined {
    return this.#kept.find(kept => kept.revision === revision)
  }

  /**
   * Replaces the scene; null clears it. Serialised at once: later changes to the object do not
   * show. Returns the new revision. Throws `TypeError`, and keeps the old scene, when the value
   * is no JSON object, refers to itself, is too deep or too large.
   */
  set(scene: object | null): number {
    return this.#replace(scene === null ? null : serialiseScene(scene, this.#limits))
  }

  /** The same for a scene that is JSON text already. */
  setText(json: string): number {
    return this.#replace(checkSceneText(json, this.#limits))
  }

  #replace(text: string | null): number {
    const bytes = text === null ? 0 : Buffer.byteLength(text)
    const revision = this.#current.revision + 1
    this.#current = { revision, text, bytes, setAtMs: this.#clock.now() }
    this.#kept.push(this.#current)
    this.#keptBytes += bytes
    while (this.#kept.length > 1 && this.#overLimits()) {
      this.#keptBytes -= this.#kept.shift()?.bytes ?? 0
    }
    this.#onChange()
    return this.#current.revision
  }

  #overLimits(): boolean {
    return (
      this.#kept.length > this.#limits.maxSceneRevisions ||
      this.#keptBytes > this.#limits.maxSceneRevisionBytes
    )
  }
}
