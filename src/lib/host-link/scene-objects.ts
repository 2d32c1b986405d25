import { ServiceError } from '../util/errors.ts'
import { parseExact } from '../util/exact-json.ts'
import { isJsonObject } from '../util/json.ts'
import { mergedWarnings, type SceneWarning } from './read-json.ts'

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
  /** What had to be replaced in it: in the scene each takes the place of one with its code. */
  readonly warnings: readonly SceneWarning[]
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

/**
 * A scene with one text for each object and member, so that a change costs what changed. Only for
 * scenes whose `objects` all have a text `id`, each once.
 */
export class SceneObjects {
  /** The place of `objects` among the members is kept under its name. */
  readonly #members: Map<string, string>
  readonly #ids: string[]
  readonly #texts: string[]
  #places: Map<string, number>
  /** Of all objects and members, each with the comma behind it. */
  #bytes = 0

  private constructor(
    members: Map<string, string>,
    objects: readonly [id: string, text: string][],
  ) {
    this.#members = members
    this.#ids = objects.map(([id]) => id)
    this.#texts = objects.map(([, text]) => text)
    this.#places = placesOf(this.#ids)
    for (const [name, text] of members) this.#bytes += memberBytes(name, text)
    for (const text of this.#texts) this.#bytes += objectBytes(text)
  }

  /** The scene of the text; null when it is not of this form. */
  static of(text: string): SceneObjects | null {
    const scene: unknown = parseExact(text)
    if (!isJsonObject(scene) || !Array.isArray(scene.objects)) return null
    const objects: [id: string, text: string][] = []
    for (const object of scene.objects) {
      if (!isJsonObject(object) || typeof object.id !== 'string') return null
      objects.push([object.id, JSON.stringify(object)])
    }
    if (new Map(objects).size !== objects.length) return null
    const members = Object.entries(scene).map(([name, value]): [string, string] => [
      name,
      name === 'objects' ? '' : JSON.stringify(value),
    ])
    return new SceneObjects(new Map(members), objects)
  }

  get ids(): readonly string[] {
    return this.#ids
  }

  /** Of the whole text. */
  get bytes(): number {
    return textBytes(this.#bytes, this.#ids.length)
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
    return this.#places.get(id)
  }

  /**
   * Returns what changed, in its order. Throws `limit_reached`, and changes nothing, when the scene
   * would become too large: `maxMessageBytes` is of its text.
   */
  apply(
    patch: ScenePatch,
    bounds: { maxMessageBytes: number; maxPatchedObjects: number },
  ): SceneStep[] {
    const steps = this.#stepsOf(patch)
    let count = this.#ids.length
    let bytes = this.#bytes
    for (const step of steps) {
      const { before, after } = step
      if (step.kind === 'object') {
        count += Number(after !== null) - Number(before !== null)
        bytes += objectBytes(after) - objectBytes(before)
      } else {
        bytes += memberBytes(step.name, after) - memberBytes(step.name, before)
      }
    }
    const { maxMessageBytes: maxBytes, maxPatchedObjects: maxObjects } = bounds
    if (textBytes(bytes, count) > maxBytes || count > maxObjects) {
      const message = `a scene has at most ${maxObjects} objects and ${maxBytes} bytes`
      throw new ServiceError('limit_reached', message)
    }
    for (const step of steps) this.#take(step)
    this.#bytes = bytes
    if (patch.removed.length > 0) this.#places = placesOf(this.#ids)
    return steps
  }

  #stepsOf({ objects, removed, members, unset, warnings }: ScenePatch): SceneStep[] {
    const steps: SceneStep[] = []
    let end = this.#ids.length
    for (const [id, after] of objects) {
      const at = this.place(id) ?? end++
      steps.push({ kind: 'object', id, at, before: this.#texts[at] ?? null, after })
    }
    // The last one first: then each is still where it was before the patch.
    for (const at of removed.flatMap(id => this.place(id) ?? []).sort((a, b) => b - a)) {
      const [id, before] = [this.#ids[at] as string, this.#texts[at] as string]
      steps.push({ kind: 'object', id, at, before, after: null })
    }
    const changed = new Map<string, string | null>(members)
    for (const name of unset) changed.set(name, null)
    if (warnings.length > 0) {
      const known = changed.get('warnings') ?? this.member('warnings') ?? '[]'
      changed.set('warnings', JSON.stringify(mergedWarnings(parseExact(known), warnings)))
    }
    for (const [name, after] of changed) {
      steps.push({ kind: 'member', name, before: this.member(name), after })
    }
    return steps.filter(({ before, after }) => before !== after)
  }

  #take(step: SceneStep): void {
    const { after } = step
    if (step.kind === 'member') {
      if (after === null) this.#members.delete(step.name)
      else this.#members.set(step.name, after)
    } else if (after === null) {
      this.#ids.splice(step.at, 1)
      this.#texts.splice(step.at, 1)
    } else {
      this.#ids[step.at] = step.id
      this.#texts[step.at] = after
      this.#places.set(step.id, step.at)
    }
  }
}

function placesOf(ids: readonly string[]): Map<string, number> {
  return new Map(ids.map((id, at) => [id, at]))
}

function objectBytes(text: string | null): number {
  return text === null ? 0 : Buffer.byteLength(text) + ','.length
}

function memberBytes(name: string, text: string | null): number {
  return text === null ? 0 : Buffer.byteLength(`${JSON.stringify(name)}:${text},`)
}

/** No comma is behind the last object, nor behind the last member. */
function textBytes(pieces: number, objects: number): number {
  return '{[]}'.length + pieces - 1 - Math.min(objects, 1)
}
