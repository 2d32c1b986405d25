import { pause, type Timer } from '../util/time.ts'
import type { JsonObject } from '../util/json.ts'
import { fail, type Result } from '../util/result.ts'
import type { ClientLimits } from './host-client-options.ts'
import { HostLinkError } from './errors.ts'
import { type Feed, Pump } from './feeds.ts'
import { jsonObjectText, maxDepth, messageText, type RawMembers } from './message-text.ts'
import type { AskFailure, Link } from './link.ts'
import { SceneObjects, type SceneNames } from './scene-objects.ts'
import { isObjectId, scenePatch, type ScenePatchInput } from './scene-patch.ts'
import type { LinkLimits } from './wire.ts'

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
const envelopeBytes = 256
const MiB = 1024 * 1024
const tooLongPart = 'one object, or all other members, are longer than a message'
const refusedPart = 'the server refused a part of the scene'

type Asked = Promise<Result<JsonObject, AskFailure>>
type SceneLimits = Required<
  Pick<LinkLimits, 'max_message_bytes' | 'max_scene_bytes' | 'max_patched_objects'>
>

/** Assumed of a server that is not connected yet. */
const patchedScene = { max_scene_bytes: 64 * MiB, max_patched_objects: 100_000 }

/** Sends scenes, or what changed. Keeps only the newest one and the one that the server has. */
export class SceneFeed implements Feed {
  readonly #parts: SceneFeedParts
  readonly #pump = new Pump(link => this.#send(link))
  /** The newest scene: its text as it was set, or its objects once it was patched. */
  #scene: string | SceneObjects | null = null
  /** What was patched since the scene that was sent last; null: not known. */
  #news: SceneNames | null = null
  /** Counts the scenes; 0 before the first one. */
  #version = 0
  /** The version that was sent last. */
  #sent = 0
  /** The version that the server of this link has accepted or refused. */
  #settled = 0
  #revision: number | null = null
  /** What the server of this link has, by its own revision; null: not known. */
  #taken: { readonly scene: SceneObjects | null; readonly revision: number } | null = null
  #limits: SceneLimits = { max_message_bytes: 8 * MiB, ...patchedScene }
  #intervalMs = 0
  #sentAt = Number.NEGATIVE_INFINITY
  #waiters: Waiter[] = []

  constructor(parts: SceneFeedParts) {
    this.#parts = parts
  }

  /** Throws `TypeError` and keeps the old scene unless this is a JSON object within the limits. */
  set(scene: object | null): void {
    const text = scene === null ? 'null' : jsonObjectText(scene, 'the scene')
    const tooLarge = this.#tooLarge(text)
    if (tooLarge !== null) throw new TypeError(tooLarge)
    this.#scene = text
    this.#news = null
    this.#changed()
  }

  /** Throws `TypeError` and changes nothing for a scene without ids, or one that gets too large. */
  patch(input: ScenePatchInput): void {
    const patch = scenePatch(input, maxDepth)
    const known = this.#scene
    const scene = typeof known === 'string' ? objectsOf(known) : known
    if (scene === null) {
      throw new TypeError('patchScene needs a scene whose objects all have an id: set one first')
    }
    const steps = scene.apply(patch)
    const tooLarge = this.#tooLarge(scene)
    if (tooLarge !== null) {
      scene.undo(steps)
      throw new TypeError(tooLarge)
    }
    if (steps.length === 0) return
    if (scene !== known) this.#news = this.#sent === this.#version ? newNews() : null
    this.#scene = scene
    for (const step of steps) {
      if (step.kind === 'object') this.#news?.ids.add(step.id)
      else this.#news?.members.add(step.name)
    }
    this.#changed()
  }

  #changed(): void {
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
    const { max_message_bytes, max_scene_bytes = 8 * MiB, max_patched_objects = 2000 } = link.limits
    this.#limits = link.patches
      ? { max_message_bytes, max_scene_bytes, max_patched_objects }
      : { max_message_bytes, max_scene_bytes: max_message_bytes, max_patched_objects: 0 }
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
    if (this.#scene === null || !this.waiting) return
    await this.#waitForTurn(link)
    if (!link.open) return
    const version = (this.#sent = this.#version)
    this.#sentAt = this.#parts.now()
    const { asked, compared } = this.#ask(link, this.#scene)
    this.#taken = null
    // What is patched from now on is news to the server when it has taken this.
    this.#news = typeof this.#scene === 'string' ? null : newNews()
    const reply = await asked
    if (reply.ok) {
      const { revision, superseded } = reply.value
      this.#revision = Number.isSafeInteger(revision) ? Number(revision) : null
      if (link.patches && this.#revision !== null && superseded !== true) {
        this.#taken = { scene: compared, revision: this.#revision }
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

  /** `compared`: the scene as it is sent, when the next one can be compared with it. */
  #ask(link: Link, scene: string | SceneObjects): { asked: Asked; compared: SceneObjects | null } {
    // Another server may have smaller limits.
    const message = this.#tooLarge(scene)
    if (message !== null) {
      const failure: AskFailure = { code: 'limit', message, retryable: false }
      return { asked: Promise.resolve(fail(failure)), compared: null }
    }
    const isCompared = link.patches && typeof scene === 'string' && scene.length <= maxComparedChars
    const compared = isCompared ? objectsOf(scene) : null
    const patch = this.#patchTo(scene, compared)
    if (patch !== null) return { asked: link.ask('scene.patch', patch), compared }
    const bytes = typeof scene === 'string' ? Buffer.byteLength(scene) : scene.bytes
    const isWhole = bytes + envelopeBytes <= this.#limits.max_message_bytes
    const text = typeof scene === 'string' ? scene : scene.text
    const asked = isWhole
      ? link.ask('scene.set', { scene: text })
      : this.#askInParts(link, typeof scene === 'string' ? objectsOf(scene) : scene)
    return { asked, compared }
  }

  /** Only the last part is answered. */
  async #askInParts(link: Link, scene: SceneObjects | null): Asked {
    const [first, ...rest] = scene?.parts(this.#limits.max_message_bytes - envelopeBytes) ?? []
    const last = rest.pop()
    if (scene === null || first === undefined || last === undefined) {
      return fail({ code: 'limit', message: tooLongPart, retryable: false })
    }
    link.send(messageText('scene.set', { scene: scene.textWith(first), more: 'true' }))
    for (const objects of rest) {
      await link.drained()
      link.send(messageText('scene.patch', { objects, more: 'true' }))
    }
    await link.drained()
    const reply = await link.ask('scene.patch', { objects: last })
    // The same parts would be refused again, without end.
    if (reply.ok || reply.failure.code !== 'stale') return reply
    return fail({ code: 'invalid', message: refusedPart, retryable: false })
  }

  /** The members of a patch; null where the whole scene is better. */
  #patchTo(scene: string | SceneObjects, compared: SceneObjects | null): RawMembers | null {
    const taken = this.#taken
    if (taken === null) return null
    const old = taken.scene
    const patch =
      typeof scene === 'string'
        ? old && (compared?.patchFrom(old) ?? null)
        : this.#news && scene.patchOf(this.#news)
    if (patch === null) return null
    const { objects, removed, members, unset } = patch
    const membersText = Array.from(members, ([name, value]) => `${JSON.stringify(name)}:${value}`)
    const raw = {
      base: String(taken.revision),
      objects: `[${[...objects.values()].join(',')}]`,
      removed: JSON.stringify(removed),
      members: `{${membersText.join(',')}}`,
      unset: JSON.stringify(unset),
    }
    const bytes = Object.values(raw).reduce((sum, value) => sum + Buffer.byteLength(value), 0)
    const whole = typeof scene === 'string' ? Buffer.byteLength(scene) : scene.bytes
    const isShort = bytes + envelopeBytes <= this.#limits.max_message_bytes
    return isShort && bytes * 2 < whole ? raw : null
  }

  /** Loops because the interval may grow meanwhile. */
  async #waitForTurn(link: Link): Promise<void> {
    const restMs = () => this.#sentAt + this.#intervalMs - this.#parts.now()
    while (link.open && restMs() > 0) await this.#pause(link, restMs())
  }

  /** Scenes over the size of a message need objects with ids. */
  #tooLarge(scene: string | SceneObjects): string | null {
    const { max_message_bytes, max_scene_bytes, max_patched_objects } = this.#limits
    const bytes = typeof scene === 'string' ? Buffer.byteLength(scene) : scene.bytes
    if (bytes + envelopeBytes <= max_message_bytes) return null
    const most = Math.max(max_scene_bytes, max_message_bytes)
    if (bytes > most) {
      return `the scene has ${bytes} bytes of JSON, over the server's limit of ${most}`
    }
    const objects = typeof scene === 'string' ? objectsOf(scene) : scene
    if (objects === null) {
      return `the scene has ${bytes} bytes of JSON; over ${max_message_bytes} its objects need ids`
    }
    const count = objects.ids.length
    if (count <= max_patched_objects) return null
    return `the scene has ${count} objects, over the server's limit of ${max_patched_objects}`
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

/** Null for a scene that no patch can change. */
function objectsOf(text: string): SceneObjects | null {
  const scene = SceneObjects.of(text)
  return scene?.ids.every(isObjectId) ? scene : null
}

function newNews(): SceneNames {
  return { ids: new Set(), members: new Set() }
}
