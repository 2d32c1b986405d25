import { pause, type Timer } from '../util/time.ts'
import { fail } from '../util/result.ts'
import type { ClientLimits } from './host-client-options.ts'
import { HostLinkError } from './errors.ts'
import { type Feed, Pump } from './feeds.ts'
import { jsonObjectText, type RawMembers } from './json-text.ts'
import type { AskFailure, Link } from './link.ts'
import { SceneObjects } from './scene-objects.ts'

interface SceneFeedParts {
  readonly limits: ClientLimits
  readonly timer: Timer
  readonly now: () => number
  /** Called when the server refused a scene permanently. */
  readonly refused: (failure: AskFailure) => void
}

interface Waiter {
  readonly version: number
  readonly resolve: (revision: number | null) => void
  readonly reject: (error: HostLinkError) => void
}

/** Finding out what changed in a larger scene takes longer than sending it. */
const maxComparedChars = 1024 * 1024

/** Bytes reserved for the rest of the message. */
const envelopeBytes = 128

/** Sends scenes, or what changed. Keeps only the newest one and the one that the server has. */
export class SceneFeed implements Feed {
  readonly #parts: SceneFeedParts
  readonly #pump = new Pump(link => this.#send(link))
  #text: string | null = null
  /** Counts the scenes; 0 before the first one. */
  #version = 0
  /** The version that the server of this link has accepted or refused. */
  #settled = 0
  #revision: number | null = null
  /** What the server of this link has, by its own revision; null: not known. */
  #taken: { readonly scene: SceneObjects; readonly revision: number } | null = null
  #maxBytes = 8 * 1024 * 1024
  #intervalMs = 0
  #sentAt = Number.NEGATIVE_INFINITY
  #waiters: Waiter[] = []

  constructor(parts: SceneFeedParts) {
    this.#parts = parts
  }

  /** Throws `TypeError` and keeps the old scene unless this is a JSON object within the limit. */
  set(scene: object | null): void {
    const text = scene === null ? 'null' : jsonObjectText(scene, 'the scene')
    const tooLarge = this.#tooLarge(text)
    if (tooLarge !== null) throw new TypeError(tooLarge)
    this.#text = text
    this.#version++
    this.#pump.wake()
  }

  /** Resolves with the revision once the current scene, or a later one, was accepted. */
  settled(): Promise<number | null> {
    if (this.#settled === this.#version) return Promise.resolve(this.#revision)
    const { promise, resolve, reject } = Promise.withResolvers<number | null>()
    this.#waiters.push({ version: this.#version, resolve, reject })
    return promise
  }

  attach(link: Link): void {
    this.#maxBytes = link.limits.max_message_bytes
    this.#intervalMs = link.limits.scene_min_interval_ms
    // The server may have restarted: send the scene again.
    this.#settled = 0
    this.#taken = null
    this.#pump.attach(link)
  }

  throttle(intervalMs: number): void {
    this.#intervalMs = intervalMs
  }

  get waiting(): boolean {
    return this.#settled !== this.#version
  }

  /** Rejects all waiting callers. */
  giveUp(error: HostLinkError): void {
    for (const { reject } of this.#waiters.splice(0)) reject(error)
  }

  async #send(link: Link): Promise<void> {
    if (this.#text === null || !this.waiting) return
    await this.#waitForTurn(link)
    if (!link.open) return
    const version = this.#version
    this.#sentAt = this.#parts.now()
    // Another server may have a smaller limit.
    const text = this.#text
    const message = this.#tooLarge(text)
    const isCompared = link.patches && text.length <= maxComparedChars
    const scene = isCompared ? SceneObjects.of(text) : null
    const patch = scene && this.#patchTo(scene)
    this.#taken = null
    const reply =
      message === null
        ? await (patch === null
            ? link.ask('scene.set', { scene: text })
            : link.ask('scene.patch', patch))
        : fail<AskFailure>({ code: 'limit', message, retryable: false })
    if (reply.ok) {
      const { revision, superseded } = reply.value
      this.#revision = Number.isSafeInteger(revision) ? Number(revision) : null
      if (scene !== null && this.#revision !== null && superseded !== true) {
        this.#taken = { scene, revision: this.#revision }
      }
      this.#settle(version, waiter => waiter.resolve(this.#revision))
    } else if (reply.failure.code === 'stale') {
      // The whole scene is sent next.
    } else if (reply.failure.retryable) {
      if (link.open) await this.#pause(link, this.#parts.limits.resendMs)
    } else {
      const { code, message } = reply.failure
      this.#parts.refused(reply.failure)
      this.#settle(version, waiter => waiter.reject(new HostLinkError(code, message)))
    }
    if (this.waiting) this.#pump.wake()
  }

  /** The members of a patch; null where the whole scene is better. */
  #patchTo(scene: SceneObjects): RawMembers | null {
    const patch = this.#taken && scene.patchFrom(this.#taken.scene)
    if (patch === null) return null
    const { objects, removed, members, unset } = patch
    const membersText = Array.from(members, ([name, value]) => `${JSON.stringify(name)}:${value}`)
    const raw = {
      base: String(this.#taken?.revision),
      objects: `[${[...objects.values()].join(',')}]`,
      removed: JSON.stringify(removed),
      members: `{${membersText.join(',')}}`,
      unset: JSON.stringify(unset),
    }
    const chars = Object.values(raw).reduce((sum, value) => sum + value.length, 0)
    return chars * 2 < scene.bytes ? raw : null
  }

  /** Loops because the interval may grow meanwhile. */
  async #waitForTurn(link: Link): Promise<void> {
    const restMs = () => this.#sentAt + this.#intervalMs - this.#parts.now()
    while (link.open && restMs() > 0) await this.#pause(link, restMs())
  }

  #tooLarge(text: string): string | null {
    const bytes = Buffer.byteLength(text)
    if (bytes + envelopeBytes <= this.#maxBytes) return null
    return `the scene has ${bytes} bytes of JSON, over the server's limit of ${this.#maxBytes}`
  }

  #settle(version: number, tell: (waiter: Waiter) => void): void {
    this.#settled = version
    const done = this.#waiters.filter(waiter => waiter.version <= version)
    this.#waiters = this.#waiters.filter(waiter => waiter.version > version)
    for (const waiter of done) tell(waiter)
  }

  #pause(link: Link, delayMs: number): Promise<void> {
    return pause(this.#parts.timer, delayMs, link.signal)
  }
}
