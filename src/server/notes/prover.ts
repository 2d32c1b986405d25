import type { NoteProof } from '../../lib/mcp/note-proof.ts'
import { messageOf, publicMessage, ServiceError } from '../../lib/util/errors.ts'
import type { PictureShot } from '../../lib/host-link/wire.ts'
import { parseExact } from '../../lib/util/exact-json.ts'
import { arrayOf, isJsonObject, type JsonObject } from '../../lib/util/json.ts'
import { asText } from '../../lib/util/text.ts'
import { systemTimer, type Timer } from '../../lib/util/time.ts'
import { comparePictures } from '../capture/pictures.ts'
import type { Checkpoints } from '../checkpoints/checkpoints.ts'
import type { DocumentFolder } from '../checkpoints/document-folder.ts'
import { pictureWidths } from '../resources/capture.ts'
import type { FreshScene } from '../resources/scene/state.ts'
import { detailChanges } from '../resources/object-detail.ts'
import { type Note, type NoteInput, noteTarget } from './note.ts'
import { detailsFile } from './note-files.ts'
import type { NoteFolder } from './note-folder.ts'
import type { SceneComparison } from '../checkpoints/compare-scenes.ts'
import { describeChanges } from '../../lib/mcp/change-words.ts'
import type { JsonChange } from '../../lib/mcp/json-diff.ts'

/** A scene that did not change for so long is settled; one that goes on changing is taken as it is. */
const stillMs = 1000
const maxRounds = 10
const side = 'three-quarter' as const
const maxChanges = 1000
/** Objects of a note that are compared in detail: each costs the application time. */
const maxDetailed = 20
const otherDocument = 'another document was opened meanwhile, or this one was saved elsewhere'

/** The application as it draws pictures from a given place. Rejects when it does not. */
export interface NoteCamera {
  shot(shot: PictureShot, maxWidth: number): Promise<TakenPicture>
}

interface TakenPicture {
  readonly png: Buffer
  readonly view?: JsonObject
}

interface ProverParts {
  /** The one that is open in the application. */
  readonly document: () => DocumentFolder
  readonly scene: () => Promise<FreshScene>
  readonly checkpoints: Checkpoints
  /** Null when no pictures are taken. */
  readonly camera: NoteCamera | null
  /** All that the application tells of an object; null: it tells nothing. */
  readonly detail: (id: string) => Promise<JsonObject | null>
  readonly timer?: Timer
}

/** Sees for itself what is there when a note is made, and what an answer has changed. */
export class Prover {
  readonly #parts: ProverParts

  constructor(parts: ProverParts) {
    this.#parts = parts
  }

  /**
   * Keeps the scene for a note with this id. Returns what else there is to keep: the facts, and the
   * files of a picture and of the details of the objects.
   */
  async keep(document: DocumentFolder, id: string, input: NoteInput) {
    const { view: shown, pin, targets, author: by } = input
    const of = targets.map(target => target.id)
    const taken =
      shown === undefined && of.length === 0
        ? { no_picture: 'the note names neither a view nor an object' }
        : await this.#shot(shown ? { view: { ...shown, pin } } : { of, from: side })
    const name = `note-${id}`
    const checkpoint = await this.#parts.checkpoints
      .add({ name, by, ofNote: true }, document)
      .then(() => name)
      .catch(() => null)
    const drawn = ('png' in taken ? taken.view : undefined) ?? shown
    const { under, ...view } = drawn ?? {}
    const found = targets.length === 0 ? noteTarget.safeParse(under).data : undefined
    const about = found === undefined ? targets : [found]
    const details = await this.#details(about)
    const files = new Map<string, Buffer>()
    if (this.#isClosed(document)) {
      await this.#parts.checkpoints.remove(name, document).catch(() => {})
      return { facts: { checkpoint: null, targets, no_picture: otherDocument }, files }
    }
    if (details.some(isJsonObject)) files.set(detailsFile, Buffer.from(JSON.stringify(details)))
    const kept = { checkpoint, targets: about }
    if (!('png' in taken)) return { facts: { ...kept, ...taken }, files }
    files.set('before.png', taken.png)
    const facts = { ...kept, before: pictureUri(id, 'before'), ...(drawn && { view }) }
    return { facts, files }
  }

  /** In the order of the objects; null for one that the application tells nothing of. */
  #details(objects: SceneComparison['now']): Promise<readonly (JsonObject | null)[]> {
    const { detail } = this.#parts
    const asked = objects.slice(0, maxDetailed)
    return Promise.all(asked.map(each => each && detail(each.id).catch(() => null)))
  }

  /** Waits until the scene is settled. `answer`: the number of the answer. */
  async prove(folder: NoteFolder, note: Note, answer: number): Promise<NoteProof> {
    const { revision, text, unconfirmed, settled } = await this.#settle()
    // The document may have been saved elsewhere, and its notes follow.
    await folder.serially(async () => {})
    const { document } = folder
    const ofOther = { settled, revision: null, no_changes: otherDocument }
    if (this.#isClosed(document)) return ofOther
    // The picture shows the scene that is compared, however long that takes.
    const [changes, pictures] = await Promise.all([
      this.#changes(folder, note, text),
      this.#pictures(folder, note, answer),
    ])
    if (this.#isClosed(document)) return ofOther
    const compared = text === null ? null : revision
    return { settled, revision: compared, ...unconfirmed, ...changes, ...pictures }
  }

  #isClosed({ path }: DocumentFolder): boolean {
    return this.#parts.document().path !== path
  }

  /** Not settled when it still changed in the last round, or the application had not confirmed it. */
  async #settle(): Promise<FreshScene & { readonly settled: boolean }> {
    const { scene, timer = systemTimer } = this.#parts
    let last = await scene()
    for (let round = 0; round < maxRounds; round++) {
      await new Promise<void>(resolve => void timer.after(stillMs, resolve))
      const now = await scene()
      if (isKnown(now) && now.revision === last.revision) return { ...now, settled: true }
      last = now
    }
    return { ...last, settled: false }
  }

  async #changes(folder: NoteFolder, note: Note, current: string | null) {
    const { checkpoint, targets } = note
    if (checkpoint === null) return { no_changes: 'no scene is kept with the note' }
    if (current === null) return { no_changes: 'no scene is shared now' }
    try {
      const base = await this.#parts.checkpoints.find(checkpoint)
      const compared = { base, current, maxChanges, targets }
      const found = await this.#parts.checkpoints.compare(compared)
      const detailed = await this.#detailChanges(folder, note, found.now)
      return {
        ...proofOf(found, detailed, targets.length > 0),
        ...(found.truncated && { truncated: true }),
      }
    } catch (error) {
      // A checkpoint that left to make room, or is damaged.
      return { no_changes: reasonOf(error) }
    }
  }

  /** Of the objects of which the application told then and tells now. */
  async #detailChanges(folder: NoteFolder, note: Note, objects: SceneComparison['now']) {
    const kept = await folder
      .read(note, detailsFile)
      .then(bytes => arrayOf(parseExact(String(bytes))))
      .catch(() => [])
    const listed = kept.some(isJsonObject) ? await this.#details(objects) : []
    return detailChanges(kept, listed, objects, maxChanges)
  }

  async #pictures(folder: NoteFolder, note: Note, answer: number) {
    const { id, before, view, no_picture = 'the note has no picture to compare with' } = note
    if (before === undefined || view === undefined) return { no_picture }
    const taken = await this.#shot({ view })
    if (!('png' in taken)) return taken
    const [afterName, differenceName] = [`after-${answer}`, `difference-${answer}`]
    const after = pictureUri(id, afterName)
    try {
      await folder.append(note, `${afterName}.png`, taken.png)
      const first = await folder.read(note, 'before.png')
      const difference = first && (await comparePictures(first, taken.png))
      if (difference === null) return { after }
      const { png, share, box } = difference
      await folder.append(note, `${differenceName}.png`, png)
      return { after, difference: { uri: pictureUri(id, differenceName), share, box } }
    } catch (error) {
      return { no_picture: `the picture cannot be kept or compared: ${reasonOf(error)}` }
    }
  }

  async #shot(shot: PictureShot): Promise<TakenPicture | { readonly no_picture: string }> {
    const { camera } = this.#parts
    if (camera === null) return { no_picture: 'pictures are switched off' }
    try {
      return await camera.shot(shot, pictureWidths.usual)
    } catch (error) {
      return { no_picture: reasonOf(error) }
    }
  }
}

/** An application that is gone changes nothing more; one that is busy may have changed it already. */
function isKnown({ unconfirmed }: FreshScene): boolean {
  return unconfirmed.as_of === undefined || unconfirmed.connected === false
}

/** It is kept in the note. */
function reasonOf(error: unknown): string {
  return error instanceof ServiceError ? publicMessage(error) : messageOf(error)
}

function pictureUri(id: string, name: string): string {
  return `notes://${id}/${name}`
}

/** Lines in each of the two lists. */
const maxLines = 30

/** What a person looks at and selects is no change of the document. */
const ofPerson = /^\/(selection|time\/playing|objects\/\d+\/(selected|active|data\/users))(\/|$)/
/** Follows from other members, or from other objects. */
const isDerived = ({ path }: JsonChange) => /^\/objects\/\d+\/(bbox|matrix_world)(\/|$)/.test(path)

/** Splits changes into those of what belongs to the objects that a note is about, and all others. */
function proofOf(
  { changes, ofTargets }: Pick<SceneComparison, 'changes' | 'ofTargets'>,
  detailed: readonly JsonChange[],
  hasTargets: boolean,
) {
  const linesOf = (isAsked: boolean) =>
    describeChanges(changes, ({ path }, at) => at < ofTargets === isAsked && !ofPerson.test(path))
  const keyOf = ({ id, name }: JsonChange) => asText(id ?? name)
  const placeOf = (change: JsonChange) =>
    `${keyOf(change)} ${change.path.replace(/^\/\w+\/\d+/, '')}`
  const listed = new Set(changes.map(placeOf))
  const isPlain = (change: JsonChange) => !isDerived(change) && !ofPerson.test(change.path)
  const changed = new Set([...changes, ...detailed].filter(isPlain).map(keyOf))
  const unlisted = detailed.filter(change => {
    const isExplained = isDerived(change) && changed.has(keyOf(change))
    return !isExplained && !listed.has(placeOf(change)) && !ofPerson.test(change.path)
  })
  const [asked, others] = [[...linesOf(true), ...describeChanges(unlisted)], linesOf(false)]
  const more = Math.max(0, asked.length - maxLines) + Math.max(0, others.length - maxLines)
  return {
    ...(hasTargets && { asked: asked.slice(0, maxLines) }),
    also_changed: others.slice(0, maxLines),
    ...(more > 0 && { more }),
  }
}
