import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Unconfirmed } from '../../../lib/mcp/unconfirmed.ts'
import { type Clock, systemClock, toRfc3339 } from '../../../lib/util/time.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { cleanText } from '../../../lib/util/text.ts'
import {
  SceneObjects,
  type ScenePatch,
  type SceneStep,
} from '../../../lib/host-link/scene-objects.ts'
import {
  exceedsDepth,
  isJsonObject,
  type JsonObject,
  maxJsonDepth,
  wellFormedJson,
} from '../../../lib/util/json.ts'
import { readJson, warningsOf, withWarnings } from '../../../lib/host-link/read-json.ts'
import { parseScene, takeStep } from './changes.ts'
import { SceneDemand } from './demand.ts'

/** The application on the host link, as shown to clients. */
export interface SceneApplication {
  /** The same for all links of one run of the application. */
  readonly instanceId: string
  readonly connected: boolean
  readonly dccType: string
  /** What it says of itself, as in `dcc-scene/1`: for scenes that do not. */
  readonly facts?: { readonly dcc: JsonObject; readonly document: JsonObject | null }
}

/** What is known of the current scene beside its text. */
export interface SceneRevision {
  /** Counts the scenes of one run of the server. */
  readonly revision: number
  /** Null for revision 0, the state before the first scene. */
  readonly setAtMs: number | null
  /** Of the text; 0 without a scene. */
  readonly bytes: number
  readonly hasScene: boolean
  /** Why the application took its scene away; empty when it did not say. */
  readonly removalReason: string
}

const noScene = { revision: 0, setAtMs: null, bytes: 0, hasScene: false, removalReason: '' }

/** The application that a scene is from. */
interface ShownApplication extends SceneApplication {
  /** When it connected or disconnected. */
  readonly sinceMs: number
  /** The revision of the scene at that time. */
  readonly sinceRevision: number
}

/** The newest scene that the server has, after its application was asked for it. */
export type FreshScene = Awaited<ReturnType<SceneState['fresh']>>

/** An earlier scene, as far as the changes since then need it. */
interface PastScene {
  readonly endedAtMs: number
  /** What the patch after it did; null when a whole scene came after it. */
  readonly steps: readonly SceneStep[] | null
  /**
   * Its text when a whole scene came after it, outside of the heap. There, thousands of texts that
   * live for minutes would let the heap grow to ten times their size.
   */
  readonly archived: Buffer | null
  readonly keptBytes: number
}

/** Bounds of a scene, which tests shrink. */
export const sceneDefaults = {
  /** Past scenes kept for `scene://delta`: whole texts, or what patches changed. */
  maxSceneRevisionBytes: 32 * 1024 * 1024,
  /** Objects of a scene that is patched. */
  maxPatchedObjects: 100_000,
}

export type SceneLimits = typeof sceneDefaults & { maxMessageBytes: number }

/** Past scenes are kept this long for `scene://delta`. */
const pastMs = 10 * 60_000
/** A step that is kept, beside its text. */
const stepBytes = 200

/** The scene the application sent last, as JSON text, and what is kept of those before it. */
export class SceneState {
  /** Revisions of different runs of the server have nothing in common. */
  readonly run = randomBytes(4).toString('hex')
  /** The subscribers of the scene, and the application that can confirm it. */
  readonly demand = new SceneDemand()
  readonly #limits: SceneLimits
  readonly #onChange: (what: 'scene' | 'application') => void
  readonly #clock: Clock
  #current: SceneRevision = noScene
  /** Null also for a scene that was patched and that nobody has read. */
  #text: string | null = null
  /** The scenes before the current one without a gap, oldest first. */
  #past: PastScene[] = []
  #pastBytes = 0
  /** The current scene, once it was patched. */
  #objects: SceneObjects | null = null
  /** Instance id of the application that set the scene; null: another source. */
  #setBy: string | null = null
  /** The first scene of that source. */
  #firstRevision = 0
  /** The one that is connected, or was last. */
  #latest: ShownApplication | null = null
  #shown: ShownApplication | null = null
  #version = 0
  #isConfirmed = true
  /** Since the last scene. */
  #refusals = 0
  /** When the scene was set, or confirmed after that. */
  #knownAtMs = 0

  /** `onChange`: a scene was set or patched, or its application went or came back. */
  constructor(
    limits: SceneLimits,
    onChange: (what: 'scene' | 'application') => void = () => {},
    clock: Clock = systemClock,
  ) {
    this.#limits = limits
    this.#onChange = onChange
    this.#clock = clock
  }

  get current(): SceneRevision {
    return this.#current
  }

  /** Null without a scene. Made when it is asked for: of a patched scene it costs all of it. */
  get text(): string | null {
    return (this.#text ??= this.#objects?.text ?? null)
  }

  /** Another number: another scene, or other facts about its application. */
  get version(): number {
    return this.#version
  }

  /** The application that the scene is from; without a scene the one on the link, or last on it. */
  get application(): ShownApplication | null {
    return this.#shown
  }

  /** Instance id of the application that set the current scene; null: another source, or none. */
  get setBy(): string | null {
    return this.current.hasScene ? this.#setBy : null
  }

  /** Whether the connected application set the scene: other sources must not replace it. */
  get isLive(): boolean {
    return this.setBy !== null && this.#shown?.connected === true
  }

  /**
   * When the scene was last known to be what the application shows; null: it is, or no
   * application can say.
   */
  get asOfMs(): number | null {
    return this.isLive && !this.#isConfirmed ? this.#knownAtMs : null
  }

  /** Like `asOfMs`, and also of an application that is gone. */
  get unconfirmed(): Unconfirmed {
    if (this.setBy === null || (this.isLive && this.#isConfirmed)) return {}
    return { as_of: toRfc3339(this.#knownAtMs), ...(!this.isLive && { connected: false }) }
  }

  /** The application may show another scene, until it sends one or confirms this one. */
  markUnconfirmed(): void {
    this.#refusals++
    this.#confirm(false)
  }

  /** Asks the application for what the scene lacks. Null: there is nothing to wait for. */
  refreshed(): Promise<void> | null {
    const asking = this.isLive ? this.demand.refresh() : null
    const refusals = this.#refusals
    if (asking === null) return null
    // A scene that was refused meanwhile is not the one that the server has.
    return asking.then(isConfirmed => this.#confirm(isConfirmed && this.#refusals <= refusals))
  }

  /** The scene, after the application was asked for what it has not sent yet. */
  async fresh() {
    await this.refreshed()
    const { revision } = this.#current
    return { revision, text: this.text, unconfirmed: this.unconfirmed }
  }

  /** How a kept scene became the current one; null when a whole scene was set in between. */
  patchesSince(revision: number): { steps: readonly SceneStep[]; scene: SceneObjects } | null {
    const index = this.#indexOf(revision)
    if (index === undefined || this.#objects === null) return null
    const steps = this.#past.slice(index).map(past => past.steps)
    return steps.includes(null)
      ? null
      : { steps: steps.flatMap(each => each ?? []), scene: this.#objects }
  }

  /** The scene of a kept revision; undefined: it is not kept. */
  valueAt(revision: number): JsonObject | undefined {
    const index = this.#indexOf(revision)
    if (index === undefined) return undefined
    // From the next whole scene the patches before it are taken back.
    const later = this.#past.slice(index)
    const whole = later.findIndex(({ steps }) => steps === null)
    const text = whole === -1 ? this.text : later[whole]?.archived?.toString()
    const scene = parseScene(text ?? null)
    const patches = whole === -1 ? later : later.slice(0, whole)
    for (const step of patches.flatMap(({ steps }) => steps ?? []).reverse()) {
      takeStep(scene, step, step.after, step.before)
    }
    return scene
  }

  /** Why a revision of that run is not kept. */
  whyUnknown(revision: number, run: string): string {
    if (run !== this.run) return 'it was seen at another run of the server'
    return revision < this.#firstRevision
      ? 'the scene was shared anew, and may be of another document'
      : `revision ${revision} is not kept`
  }

  /** The application connected or disconnected, or says something else of itself. */
  setApplication(application: SceneApplication): void {
    const { instanceId, connected } = application
    const before = this.#latest
    const isSame = before?.instanceId === instanceId && before.connected === connected
    const isNews = !isSame || before.dccType !== application.dccType
    if (!isNews && isDeepStrictEqual(before.facts, application.facts)) return
    const { sinceMs, sinceRevision } = isSame
      ? before
      : { sinceMs: this.#clock.now(), sinceRevision: this.current.revision }
    this.#latest = { ...application, sinceMs, sinceRevision }
    if (!this.#showLatest()) return
    this.#version++
    if (isNews) this.#onChange('application')
  }

  /**
   * Replaces the scene; null clears it. Serialised at once: later changes to the object do not
   * show. Returns the new revision. Throws `TypeError`, and keeps the old scene, when the value
   * is not a JSON object, refers to itself, is too deep or too large.
   */
  set(scene: object | null): number {
    const { maxMessageBytes } = this.#limits
    return this.replaceText(scene === null ? null : serialiseScene(scene, maxMessageBytes), null)
  }

  /** Removes the scene; readers are told the application's reason, when it gave one. */
  clear(reason = ''): number {
    return this.replaceText(null, null, cleanText(reason, 200))
  }

  /** The same for a scene that is JSON text already. */
  setText(json: string): number {
    return this.replaceText(checkSceneText(json, this.#limits.maxMessageBytes), null)
  }

  /** The same for checked text of a JSON object, of the application with this instance id. */
  replaceText(text: string | null, setBy: string | null, removalReason = ''): number {
    const last = this.#current
    if (setBy === this.#setBy || last.setAtMs === null) {
      this.#keep(null, this.text === null ? null : Buffer.from(this.text))
    } else {
      // A delta between scenes of different sources would be meaningless.
      this.#past = []
      this.#pastBytes = 0
      this.#firstRevision = last.revision + 1
    }
    this.#objects = null
    this.#setBy = setBy
    return this.#show(text === null ? 0 : Buffer.byteLength(text), text, removalReason)
  }

  /**
   * Changes the current scene and returns the new revision. `base`: the revision that the patch
   * builds on, null for any. Throws `scene_stale` when the scene is another one or not from
   * `setBy`, `limit_reached` when it would become too large, and `TypeError` when its objects have
   * no ids; then nothing changes.
   */
  patch(patch: ScenePatch, base: number | null, setBy: string | null = null): number {
    const last = this.#current
    if (!last.hasScene || setBy !== this.#setBy || (base ?? last.revision) !== last.revision) {
      throw new ServiceError('scene_stale', 'the scene is not the one that the patch is for', {
        hint: 'send the whole scene',
      })
    }
    const objects = (this.#objects ??= SceneObjects.of(this.text ?? ''))
    if (objects === null) {
      throw new TypeError(
        'scene must have an array "objects" whose items all have their own text id',
      )
    }
    const steps = objects.apply(patch, this.#limits)
    this.#keep(steps, null)
    return this.#show(objects.bytes, null)
  }

  /** The current scene becomes a past one. */
  #keep(steps: readonly SceneStep[] | null, archived: Buffer | null): void {
    const keptBytes =
      steps?.reduce((sum, { before }) => sum + stepBytes + (before?.length ?? 0), stepBytes) ??
      archived?.length ??
      0
    const nowMs = this.#clock.now()
    this.#past.push({ endedAtMs: nowMs, steps, archived, keptBytes })
    this.#pastBytes += keptBytes
    const { maxSceneRevisionBytes: maxBytes } = this.#limits
    while (this.#pastBytes > maxBytes || nowMs - (this.#past[0]?.endedAtMs ?? nowMs) > pastMs) {
      this.#pastBytes -= this.#past.shift()?.keptBytes ?? 0
    }
  }

  #show(bytes: number, text: string | null, removalReason = ''): number {
    const nowMs = this.#clock.now()
    const revision = this.#current.revision + 1
    this.#current = { revision, setAtMs: nowMs, bytes, hasScene: bytes > 0, removalReason }
    this.#text = text
    this.#shown = null
    this.#showLatest()
    this.#isConfirmed = true
    this.#refusals = 0
    this.#knownAtMs = nowMs
    this.#version++
    this.#onChange('scene')
    return revision
  }

  /** Among the past scenes; behind the last one for the current scene. */
  #indexOf(revision: number): number | undefined {
    const index = revision - this.#current.revision + this.#past.length
    return index < 0 || index > this.#past.length ? undefined : index
  }

  #confirm(isConfirmed: boolean): void {
    if (isConfirmed) this.#knownAtMs = this.#clock.now()
    if (isConfirmed !== this.#isConfirmed) this.#version++
    this.#isConfirmed = isConfirmed
  }

  /** False when the scene is not of that application. */
  #showLatest(): boolean {
    const isOfLatest = !this.current.hasScene || this.#latest?.instanceId === this.#setBy
    if (isOfLatest) this.#shown = this.#latest
    return isOfLatest
  }
}

const notAnObject = 'scene must be a JSON object, or null to clear it'

/** The scene as JSON text, or a `TypeError` that says what is wrong with it. */
function serialiseScene(scene: unknown, maxBytes: number): string {
  let text: unknown
  try {
    text = JSON.stringify(scene)
  } catch (cause) {
    throw new TypeError('scene has no JSON form', { cause })
  }
  // `toJSON` may have turned the object into anything.
  if (typeof text !== 'string' || !text.startsWith('{')) throw new TypeError(notAnObject)
  if (exceedsDepth(text, maxJsonDepth)) {
    throw new TypeError(`scene is nested deeper than ${maxJsonDepth} levels`)
  }
  // Only a text with a null needs the slow look.
  const warnings = text.includes('null') ? warningsOf(scene) : []
  return sized(withWarnings(wellFormedJson(text), warnings), maxBytes)
}

/** Checks a scene that is JSON text already, and returns it well-formed; null when it says so. */
function checkSceneText(given: string, maxBytes: number): string | null {
  sized(given, maxBytes)
  try {
    const { text, value, warnings } = readJson(given)
    if (value === null) return null
    if (isJsonObject(value)) return withWarnings(text, warnings)
  } catch (error) {
    throw new TypeError(`scene ${(error as TypeError).message}`)
  }
  throw new TypeError(notAnObject)
}

function sized(text: string, maxBytes: number): string {
  const bytes = Buffer.byteLength(text)
  if (bytes <= maxBytes) return text
  throw new TypeError(`scene has ${bytes} bytes of JSON, at most ${maxBytes} are taken`)
}
