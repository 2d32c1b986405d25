import { ServiceError } from '../util/errors.ts'
import { parseExact } from '../util/exact-json.ts'
import { isJsonObject } from '../util/json.ts'

/** What changes in a scene. Values are JSON texts. */
export interface ScenePatch {
  /** By id: each replaces the object of this id, or is added at the end. */
  readonly objects: ReadonlyMap<string, string>
  /** Ids; one that is not there is left out. */
  readonly removed: readonly string[]
  /** Members of the scene other than `objects`, by name. */
  readonly members: ReadonlyMap<string, string>
  /** Names of members. */
  readonly unset: readonly string[]
}

/** One thing that a patch changed. Texts of JSON; null: it is not there. */
export type SceneStep = { readonly before: string | null; readonly after: string | null } & (
  | {
      readonly kind: 'object'
      readonly id: string
      /** Its place in the list, or the one that it left. */
      readonly at: number
    }
  | { readonly kind: 'member'; readonly name: string }
)

/** After so many removals and insertions all places are counted again. */
const maxShifts = 1000

/**
 * A scene with one text for each object and member, so that a change costs what changed. Only for
 * scenes whose `objects` all have a text `id`, each once.
 */
export class SceneObjects {
  /** The place of `objects` among the members is kept under its name. */
  readonly #members: Map<string, string>
  readonly #ids: string[]
  readonly #texts: string[]
  /** Id → place, or a place at most `#shifts` before or after it. */
  #places = new Map<string, number>()
  #shifts = 0
  #objectBytes = 0
  #memberBytes = 0

  private constructor(members: Map<string, string>, ids: string[], texts: string[]) {
    this.#members = members
    this.#ids = ids
    this.#texts = texts
    for (const [name, text] of members) this.#memberBytes += memberBytes(name, text)
    for (const text of texts) this.#objectBytes += Buffer.byteLength(text)
    this.#countPlaces()
  }

  /** The scene of the text; null when it is not of this form. */
  static of(text: string): SceneObjects | null {
    const scene: unknown = parseExact(text)
    if (!isJsonObject(scene) || !Array.isArray(scene.objects)) return null
    const ids: string[] = []
    for (const object of scene.objects) {
      if (!isJsonObject(object) || typeof object.id !== 'string') return null
      ids.push(object.id)
    }
    if (new Set(ids).size !== ids.length) return null
    const members = Object.entries(scene).map(([name, value]): [string, string] => [
      name,
      name === 'objects' ? '' : JSON.stringify(value),
    ])
    return new SceneObjects(
      new Map(members),
      ids,
      scene.objects.map(object => JSON.stringify(object)),
    )
  }

  get ids(): readonly string[] {
    return this.#ids
  }

  /** Of the whole text. */
  get bytes(): number {
    const commas = Math.max(0, this.#ids.length - 1) + this.#members.size - 1
    return '{[]}'.length + this.#objectBytes + this.#memberBytes + commas
  }

  get text(): string {
    const members = Array.from(this.#members, ([name, text]) =>
      name === 'objects'
        ? `"objects":[${this.#texts.join(',')}]`
        : `${JSON.stringify(name)}:${text}`,
    )
    return `{${members.join(',')}}`
  }

  object(id: string): string | null {
    const at = this.place(id)
    return at === undefined ? null : (this.#texts[at] as string)
  }

  member(name: string): string | null {
    return name === 'objects' ? null : (this.#members.get(name) ?? null)
  }

  place(id: string): number | undefined {
    const known = this.#places.get(id)
    if (known === undefined) return undefined
    if (this.#ids[known] === id) return known
    const at = this.#ids.indexOf(id, Math.max(0, known - this.#shifts))
    this.#places.set(id, at)
    return at
  }

  /** Returns what changed, in its order. */
  apply({ objects, removed, members, unset }: ScenePatch): SceneStep[] {
    const steps: SceneStep[] = []
    for (const id of removed) this.#setObject(id, null, steps)
    for (const [id, text] of objects) this.#setObject(id, text, steps)
    for (const name of unset) this.#setMember(name, null, steps)
    for (const [name, text] of members) this.#setMember(name, text, steps)
    return steps
  }

  /** Goes back to where it was before these steps. */
  undo(steps: readonly SceneStep[]): void {
    for (const step of steps.toReversed()) {
      if (step.kind === 'member') this.#setMember(step.name, step.before, [])
      else if (step.before !== null && step.after === null)
        this.#insert(step.id, step.at, step.before)
      else this.#setObject(step.id, step.before, [])
    }
  }

  #setObject(id: string, after: string | null, steps: SceneStep[]): void {
    const at = this.place(id) ?? this.#ids.length
    const before = this.#texts[at] ?? null
    if (before === after) return
    steps.push({ kind: 'object', id, at, before, after })
    this.#objectBytes += bytesOf(after) - bytesOf(before)
    if (after !== null) {
      this.#ids[at] = id
      this.#texts[at] = after
      this.#places.set(id, at)
      return
    }
    this.#ids.splice(at, 1)
    this.#texts.splice(at, 1)
    this.#places.delete(id)
    this.#shifted()
  }

  #insert(id: string, at: number, text: string): void {
    this.#ids.splice(at, 0, id)
    this.#texts.splice(at, 0, text)
    this.#objectBytes += bytesOf(text)
    this.#places.set(id, at)
    this.#shifted()
  }

  #setMember(name: string, after: string | null, steps: SceneStep[]): void {
    const before = this.member(name)
    if (before === after) return
    steps.push({ kind: 'member', name, before, after })
    if (before !== null) this.#memberBytes -= memberBytes(name, before)
    if (after === null) {
      this.#members.delete(name)
      return
    }
    this.#memberBytes += memberBytes(name, after)
    this.#members.set(name, after)
  }

  #shifted(): void {
    if (++this.#shifts > maxShifts) this.#countPlaces()
  }

  #countPlaces(): void {
    this.#places = new Map(this.#ids.map((id, at) => [id, at]))
    this.#shifts = 0
  }
}

function bytesOf(text: string | null): number {
  return text === null ? 0 : Buffer.byteLength(text)
}

/** With the colon. */
function memberBytes(name: string, text: string): number {
  return Buffer.byteLength(JSON.stringify(name)) + 1 + Buffer.byteLength(text)
}

/** Throws `limit_reached` for a scene that is too large. */
export function checkObjects(
  scene: SceneObjects,
  limits: { maxMessageBytes: number; maxPatchedObjects: number },
): void {
  const { maxMessageBytes: maxBytes, maxPatchedObjects: maxObjects } = limits
  if (scene.bytes <= maxBytes && scene.ids.length <= maxObjects) return
  const message = `a scene has at most ${maxObjects} objects and ${maxBytes} bytes`
  throw new ServiceError('limit_reached', message)
}
