import { type Clock, systemClock } from '../../lib/util/time.ts'
import type { Limits } from '../../lib/config/limits.ts'
import { exceedsDepth, isJsonObject, parseJson } from '../../lib/util/json.ts'

/** What was held at one revision; `text` is null when there was no scene. */
export interface SceneRevision {
  readonly revision: number
  readonly text: string | null
  readonly bytes: number
  /** Null for revision 0, the state before the first scene. */
  readonly setAtMs: number | null
}

/** The application on the host link, as shown to clients. */
interface SceneApplication {
  /** The same for all links of one run of the application. */
  readonly instanceId: string
  readonly connected: boolean
  readonly dccType: string
}

/** The application that a scene is from. */
export interface ShownApplication extends SceneApplication {
  /** When it connected, or went. */
  readonly sinceMs: number
}

/** Told of a scene that was set, and of an application that went or came back. */
interface SceneListener {
  sceneSet(): void
  applicationChanged(): void
}

/** What the host link needs to know and tell of the scene. */
export interface SceneOwnership {
  readonly current: SceneRevision
  readonly application: ShownApplication | null
  /** Instance id of the application that set the current scene; null: another source, or none. */
  readonly setBy: string | null
  /** Does the connected application hold the scene? Then other sources must not replace it. */
  readonly isLive: boolean
  /** The application connected, disconnected or changed its type. */
  tell(application: SceneApplication): void
}

interface SceneStateOptions {
  readonly listener?: SceneListener | undefined
  readonly clock?: Clock | undefined
  /**
   * The revision before the first scene. Runs that begin at different numbers never compare a
   * scene with one of another run.
   */
  readonly firstRevision?: number | undefined
}

type StateLimits = SceneLimits & Pick<Limits, 'maxSceneRevisions' | 'maxSceneRevisionBytes'>

/** The scene the application sent last, as JSON text, and the revisions before it. */
export class SceneState implements SceneOwnership {
  readonly #limits: StateLimits
  readonly #listener: SceneListener | undefined
  readonly #clock: Clock
  #current: SceneRevision
  /** Oldest first, the current one last. */
  #kept: SceneRevision[]
  #keptBytes = 0
  /** Instance id of the application that set the scene; null: another source. */
  #setBy: string | null = null
  /** The one that is connected, or was last. */
  #latest: ShownApplication | null = null
  #shown: ShownApplication | null = null
  #version = 0

  constructor(limits: StateLimits, options: SceneStateOptions = {}) {
    const { listener, clock = systemClock, firstRevision = 0 } = options
    this.#limits = limits
    this.#listener = listener
    this.#clock = clock
    this.#current = { revision: firstRevision, text: null, bytes: 0, setAtMs: null }
    this.#kept = [this.#current]
  }

  get current(): SceneRevision {
    return this.#current
  }

  /** Another number: another scene, or other facts about its application. */
  get version(): number {
    return this.#version
  }

  /** The application that the scene is from; without a scene the one on the link, or last on it. */
  get application(): ShownApplication | null {
    return this.#shown
  }

  get setBy(): string | null {
    return this.#current.text === null ? null : this.#setBy
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
    return this.#kept.find(kept => kept.revision === revision)
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
    this.#latest = { ...application, sinceMs: isSame ? before.sinceMs : this.#clock.now() }
    if (!this.#showLatest()) return
    this.#version++
    this.#listener?.applicationChanged()
  }

  #replace(text: string | null, setBy: string | null): number {
    const bytes = text === null ? 0 : Buffer.byteLength(text)
    const revision = this.#current.revision + 1
    const isFirst = this.#current.setAtMs === null
    this.#current = { revision, text, bytes, setAtMs: this.#clock.now() }
    // A delta between scenes of different sources would be meaningless.
    if (setBy !== this.#setBy && !isFirst) this.#forgetHistory()
    this.#setBy = setBy
    this.#kept.push(this.#current)
    this.#keptBytes += bytes
    while (this.#kept.length > 1 && this.#overLimits()) {
      this.#keptBytes -= this.#kept.shift()?.bytes ?? 0
    }
    this.#shown = null
    this.#showLatest()
    this.#version++
    this.#listener?.sceneSet()
    return this.#current.revision
  }

  /** False when the scene is not of that application. */
  #showLatest(): boolean {
    const isOfLatest = this.#current.text === null || this.#latest?.instanceId === this.#setBy
    if (isOfLatest) this.#shown = this.#latest
    return isOfLatest
  }

  #forgetHistory(): void {
    this.#kept = []
    this.#keptBytes = 0
  }

  #overLimits(): boolean {
    return (
      this.#kept.length > this.#limits.maxSceneRevisions ||
      this.#keptBytes > this.#limits.maxSceneRevisionBytes
    )
  }
}

type SceneLimits = Pick<Limits, 'maxMessageBytes' | 'maxJsonDepth'>

/** The scene as JSON text, or a `TypeError` that says what is wrong with it. */
function serialiseScene(scene: unknown, limits: SceneLimits): string {
  if (!isJsonObject(scene)) throw notAnObject()
  let text: unknown
  try {
    text = JSON.stringify(scene)
    // Numbers that JSON lacks become `null`: only a text with one needs the slow look.
    if (typeof text === 'string' && text.includes('null')) JSON.stringify(scene, refuseNonFinite)
  } catch (cause) {
    throw cause instanceof SceneNumberError ? cause : notSerialisable(cause)
  }
  // `toJSON` may have turned the object into anything.
  if (typeof text !== 'string' || !text.startsWith('{')) throw notAnObject()
  checkBytes(text, limits)
  if (exceedsDepth(text, limits.maxJsonDepth)) throw tooDeep(limits)
  return text
}

/** Checks a scene that is JSON text already; `null` when the text says so. */
function checkSceneText(text: unknown, limits: SceneLimits): string | null {
  if (typeof text !== 'string') throw new TypeError('scene text must be a string of JSON')
  checkBytes(text, limits)
  const parsed = parseJson(text, limits.maxJsonDepth)
  if (!parsed.ok) {
    if (parsed.failure === 'depth') throw tooDeep(limits)
    throw new TypeError('scene is not valid JSON, which has no NaN and no Infinity')
  }
  if (parsed.value === null) return null
  if (!isJsonObject(parsed.value)) throw notAnObject()
  // Parsing turns a number beyond the range into Infinity.
  if (hugeNumber.test(text)) JSON.stringify(parsed.value, refuseNonFinite)
  return text
}

/** What every number beyond the range has; other texts may have it, too. */
const hugeNumber = /[eE]\+?\d{3}|\d{200}/

class SceneNumberError extends TypeError {}

function refuseNonFinite(key: string, value: unknown): unknown {
  const number = value instanceof Number ? value.valueOf() : value
  if (typeof number === 'number' && !Number.isFinite(number)) {
    const where = key === '' ? '' : ` at member ${JSON.stringify(key.slice(0, 100))}`
    throw new SceneNumberError(`scene holds ${number}${where}: JSON has no such number`)
  }
  return value
}

function checkBytes(text: string, limits: SceneLimits): void {
  const bytes = Buffer.byteLength(text)
  if (bytes > limits.maxMessageBytes) {
    throw new TypeError(
      `scene has ${bytes} bytes of JSON, at most ${limits.maxMessageBytes} are taken`,
    )
  }
}

function notAnObject(): TypeError {
  return new TypeError('scene must be a JSON object, or null to clear it')
}

function notSerialisable(cause: unknown): TypeError {
  const what =
    cause instanceof RangeError
      ? 'it is nested too deeply'
      : 'it refers to itself, or holds a value without a JSON form'
  return new TypeError(`scene cannot be written as JSON: ${what}`, { cause })
}

function tooDeep(limits: SceneLimits): TypeError {
  return new TypeError(`scene is nested deeper than ${limits.maxJsonDepth} levels`)
}
