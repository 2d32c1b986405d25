import type { ResourceLimits } from '../limits.ts'
import type { Unconfirmed } from '../../../lib/mcp/unconfirmed.ts'
import { type Clock, systemClock, toRfc3339 } from '../../../lib/util/time.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import {
  checkObjects,
  SceneObjects,
  type ScenePatch,
  type SceneStep,
} from '../../../lib/host-link/scene-objects.ts'
import { SceneDemand } from './demand.ts'
import type { SceneApplication, SceneOwnership, ShownApplication } from './ownership.ts'
import { Revision, type SceneRevision } from './revision.ts'
import { checkSceneText, type SceneLimits, serialiseScene } from './text.ts'

/** Past scenes are kept this long for `scene://delta`. */
const sceneRevisionMs = 10 * 60_000

/** Told of a scene that was set, and of an application that went or came back. */
interface SceneListener {
  sceneSet(): void
  applicationChanged(): void
}

interface SceneStateOptions {
  readonly listener?: SceneListener
  readonly clock?: Clock
  /**
   * The revision before the first scene. Runs that begin at different numbers never compare a
   * scene with one of another run.
   */
  readonly firstRevision?: number
}

type StateLimits = SceneLimits & Pick<ResourceLimits, 'maxSceneRevisionBytes' | 'maxPatchedObjects'>

/** The scene the application sent last, as JSON text, and the revisions before it. */
export class SceneState implements SceneOwnership {
  readonly #limits: StateLimits
  readonly #listener: SceneListener | undefined
  readonly #clock: Clock
  /** Oldest first, the current one last. */
  #kept: [Revision, ...Revision[]]
  /** Of all but the current one. */
  #keptBytes = 0
  /** The current scene, once it was patched. */
  #objects: SceneObjects | null = null
  /** Instance id of the application that set the scene; null: another source. */
  #setBy: string | null = null
  /** The one that is connected, or was last. */
  #latest: ShownApplication | null = null
  #shown: ShownApplication | null = null
  #version = 0
  #isConfirmed = true
  /** Since the last scene. */
  #doubts = 0
  /** When the scene was set, or confirmed after that. */
  #knownAtMs = 0
  readonly demand = new SceneDemand()

  constructor(limits: StateLimits, options: SceneStateOptions = {}) {
    const { listener, clock = systemClock, firstRevision = 0 } = options
    this.#limits = limits
    this.#listener = listener
    this.#clock = clock
    this.#kept = [new Revision(firstRevision, null, 0, null)]
  }

  get current(): SceneRevision {
    return this.#last
  }

  get #last(): Revision {
    return this.#kept.at(-1) as Revision
  }

  /** Another number: another scene, or other facts about its application. */
  get version(): number {
    return this.#version
  }

  /** The application that the scene is from; without a scene the one on the link, or last on it. */
  get application(): ShownApplication | null {
    return this.#shown
  }

  get asOfMs(): number | null {
    return this.isLive && !this.#isConfirmed ? this.#knownAtMs : null
  }

  /** Like `asOfMs`, and also of an application that is gone. */
  get unconfirmed(): Unconfirmed {
    if (this.setBy === null || (this.isLive && this.#isConfirmed)) return {}
    return { as_of: toRfc3339(this.#knownAtMs), ...(!this.isLive && { connected: false }) }
  }

  doubt(): void {
    this.#doubts++
    this.#confirm(false)
  }

  refreshed(): Promise<void> | null {
    const asking = this.isLive ? this.demand.refresh() : null
    const doubts = this.#doubts
    if (asking === null) return null
    // A scene that was refused meanwhile is not the one that the server has.
    return asking.then(isConfirmed => this.#confirm(isConfirmed && this.#doubts <= doubts))
  }

  get setBy(): string | null {
    return this.current.hasScene ? this.#setBy : null
  }

  get isLive(): boolean {
    return this.setBy !== null && this.#shown?.connected === true
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
    return this.#kept[revision - this.#kept[0].revision]
  }

  /**
   * How the scene went from a kept revision to the current one; null when a whole scene was set
   * in between.
   */
  patchesSince(revision: number): { steps: readonly SceneStep[]; scene: SceneObjects } | null {
    const later = this.#kept.slice(revision - this.#kept[0].revision, -1)
    if (this.#objects === null || later.some(({ undoes }) => undoes === null)) return null
    return { steps: later.flatMap(({ undoes }) => undoes ?? []), scene: this.#objects }
  }

  /**
   * Replaces the scene; null clears it. Serialised at once: later changes to the object do not
   * show. Returns the new revision. Throws `TypeError`, and keeps the old scene, when the value
   * is not a JSON object, refers to itself, is too deep or too large.
   */
  set(scene: object | null): number {
    return this.#replace(scene === null ? null : serialiseScene(scene, this.#limits), null)
  }

  /** The same for a scene that is JSON text already, of the application with this instance id. */
  setText(json: string, setBy: string | null = null): number {
    return this.#replace(checkSceneText(json, this.#limits), setBy)
  }

  tell(application: SceneApplication): void {
    const { instanceId, connected } = application
    const before = this.#latest
    const isSame = before?.instanceId === instanceId && before.connected === connected
    if (isSame && before.dccType === application.dccType) return
    const since = isSame
      ? { sinceMs: before.sinceMs, sinceRevision: before.sinceRevision }
      : { sinceMs: this.#clock.now(), sinceRevision: this.current.revision }
    this.#latest = { ...application, ...since }
    if (!this.#showLatest()) return
    this.#version++
    this.#listener?.applicationChanged()
  }

  patch(patch: ScenePatch, base: number | null, setBy: string | null = null): number {
    const last = this.#last
    if (!last.hasScene || setBy !== this.#setBy || (base ?? last.revision) !== last.revision) {
      throw new ServiceError('scene_stale', 'the scene is not the one that the patch is for', {
        hint: 'send the whole scene',
      })
    }
    const objects = (this.#objects ??= SceneObjects.of(last.text ?? ''))
    if (objects === null) {
      throw new TypeError(
        'scene must have an array "objects" whose items all have their own text id',
      )
    }
    const steps = objects.apply(patch)
    try {
      checkObjects(objects, this.#limits)
    } catch (error) {
      objects.undo(steps)
      throw error
    }
    last.undoneBy(steps, () => this.#textAt(last.revision))
    this.#push(objects.bytes, () => objects.text)
    return this.current.revision
  }

  #replace(text: string | null, setBy: string | null): number {
    this.#forget(setBy)
    this.#push(text === null ? 0 : Buffer.byteLength(text), text)
    return this.current.revision
  }

  /** The current scene becomes one of the past, of which the next whole one knows nothing. */
  #forget(setBy: string | null): void {
    this.#last.settle()
    this.#objects = null
    // A delta between scenes of different sources would be meaningless.
    if (setBy !== this.#setBy && this.current.setAtMs !== null) {
      this.#kept = [this.#last]
      this.#keptBytes = 0
      this.#last.isForgotten = true
    }
    this.#setBy = setBy
  }

  #push(bytes: number, text: string | null | (() => string)): void {
    const nowMs = this.#clock.now()
    const before = this.#last
    this.#keptBytes += before.keptBytes
    this.#kept.push(new Revision(before.revision + 1, nowMs, bytes, text))
    while (this.#kept.length > 1 && this.#isOldestDue(nowMs)) {
      this.#keptBytes -= this.#kept.shift()?.keptBytes ?? 0
    }
    this.#shown = null
    this.#showLatest()
    this.#isConfirmed = true
    this.#doubts = 0
    this.#knownAtMs = nowMs
    this.#version++
    this.#listener?.sceneSet()
  }

  /** The oldest one was current until the one after it came. */
  #isOldestDue(nowMs: number): boolean {
    const [oldest, next] = this.#kept
    const isOver = nowMs - (next?.setAtMs ?? nowMs) > sceneRevisionMs
    return isOver || oldest.isForgotten || this.#keptBytes > this.#limits.maxSceneRevisionBytes
  }

  #confirm(isConfirmed: boolean): void {
    if (isConfirmed) this.#knownAtMs = this.#clock.now()
    if (isConfirmed !== this.#isConfirmed) this.#version++
    this.#isConfirmed = isConfirmed
  }

  /** The text of a revision that was patched: later steps are undone on a copy. */
  #textAt(revision: number): string | null {
    const at = revision - this.#kept[0].revision
    let whole = this.#kept.findIndex((kept, index) => index > at && kept.undoes === null)
    if (whole === -1) whole = this.#kept.length - 1
    const isCurrent = whole === this.#kept.length - 1 && this.#objects !== null
    const scene = isCurrent ? this.#objects?.copy() : SceneObjects.of(this.#kept[whole]?.text ?? '')
    for (let index = whole - 1; index >= at; index--) {
      scene?.undo(this.#kept[index]?.undoes ?? [])
    }
    return scene?.text ?? null
  }

  /** False when the scene is not of that application. */
  #showLatest(): boolean {
    const isOfLatest = !this.current.hasScene || this.#latest?.instanceId === this.#setBy
    if (isOfLatest) this.#shown = this.#latest
    return isOfLatest
  }
}
