import { randomBytes } from 'node:crypto'
import { type ErrorCode, messageOf, ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { repeat, systemClock, systemTimer, toRfc3339 } from '../../lib/util/time.ts'
import { indexObjects } from '../checkpoints/compare-scenes.ts'
import type { Checkpoints } from '../checkpoints/checkpoints.ts'
import type { DocumentFolder } from '../checkpoints/document-folder.ts'
import { NoteFolder } from './note-folder.ts'
import { addFile, exportedNote, importedNote, stepFile } from './note-files.ts'
import type { AuditLog } from '../resources/audit-log.ts'
import type { SchemeProducer } from '../resources/scheme-producer.ts'
import type { SceneNow } from '../resources/scene/producer.ts'
import type { Prover } from './prover.ts'
import {
  allNotesUri,
  findNote,
  isOpen,
  nextState,
  type Note,
  type NoteAction,
  type NoteInput,
  type NoteTarget,
  openNotesUri,
  resolveTargets,
  targetsNow,
} from './note.ts'
import { notesProducer } from './notes-producer.ts'

const maxEntries = 100
/** In the application, which shows little of what is over. */
const maxSettledShown = 10
const maxEntriesShown = 10
/** How often the folder is read while a client follows the notes: other servers write, too. */
const pollMs = 2000

export const noDocument = 'no document is shared'

export interface NoteAct {
  readonly action: NoteAction
  readonly by: string
  /** In the audit; absent: `by`. */
  readonly actor?: string
  readonly text?: string
}

interface NotesParts {
  /** The one that is open in the application. */
  readonly document: () => DocumentFolder
  /** Its path or name, for people. Null: the application has left and taken its scene with it. */
  readonly shared: () => { readonly document: string | null } | null
  readonly checkpoints: Checkpoints
  readonly prover: Prover
  readonly audit: Pick<AuditLog, 'record'>
  readonly log: Logger
}

/** The notes of the document that is open in the application. */
export class Notes {
  readonly #parts: NotesParts
  readonly #followed = new Set<string>()
  #opened: NoteFolder | null = null
  readonly #watchers = new Set<() => void>()
  #scene: () => SceneNow = () => ({ objects: [], isPartial: true })
  #listener: (uri: string) => void = () => {}
  #stopPolling: (() => void) | null = null

  constructor(parts: NotesParts) {
    this.#parts = parts
  }

  producer(scene: () => SceneNow): SchemeProducer {
    this.#scene = scene
    return notesProducer(this)
  }

  /** Sets the listener of changes. */
  onChange(listener: (uri: string) => void): void {
    this.#listener = listener
  }

  /** The first subscriber of a URI came, or the last one went. */
  follow(uri: string, isFollowed: boolean): void {
    if (isFollowed) this.#followed.add(uri)
    else this.#followed.delete(uri)
    this.#pollIfWatched()
  }

  /** Is told of every change, also by another process or of the document. Returns the end. */
  watch(listener: () => void): () => void {
    this.#watchers.add(listener)
    this.#pollIfWatched()
    return () => {
      this.#watchers.delete(listener)
      this.#pollIfWatched()
    }
  }

  /** What the application shows its user: notes that wait, and the last that are settled. */
  async shown(maxBytes: number): Promise<{ notes: readonly object[]; pictures: string }> {
    const all = await this.list()
    const settled = new Set(all.filter(note => !isOpen(note)).slice(-maxSettledShown))
    const notes = all
      .filter(note => isOpen(note) || settled.has(note))
      .map(note => ({ ...note, entries: note.entries.slice(-maxEntriesShown) }))
    return { notes: fittingNotes(notes, maxBytes), pictures: this.#open().path }
  }

  #pollIfWatched(): void {
    if (this.#followed.size + this.#watchers.size === 0) return this.close()
    if (this.#stopPolling !== null) return
    const look = async () => void (await this.list().catch(() => []))
    void look()
    this.#stopPolling = repeat(systemTimer, pollMs, look)
  }

  close(): void {
    this.#stopPolling?.()
    this.#stopPolling = null
  }

  /**
   * Another document may be open now, or the one that was kept in `from` was just saved elsewhere.
   * `isMove`: it had no path before, and nothing stays there.
   */
  documentChanged(from: DocumentFolder | null, isMove: boolean): void {
    const document = this.#parts.document()
    if (this.#opened?.document.path === document.path) return
    const folder = this.#folderOf(from ?? document)
    this.#opened = folder
    if (from === null) return this.#tell([])
    void folder
      .follow(document, () => this.#bring(from, document, isMove))
      .then(() => this.#tell([]))
  }

  /** Moves notes and checkpoints of a saved document to its new folder, or copies them. */
  async #bring(from: DocumentFolder, to: DocumentFolder, isMove: boolean): Promise<void> {
    const { checkpoints, log } = this.#parts
    try {
      const source = new NoteFolder(from, log, () => {})
      await source.copyTo(new NoteFolder(to, log, () => {}), isMove)
      await checkpoints.copy(from, to)
      if (isMove) await from.remove()
    } catch (error) {
      log.warn({ err: error, path: from.path }, 'notes could not follow their document')
    }
  }

  /** By number, with the names that their objects have now. None while no document is shared. */
  async list(): Promise<readonly Note[]> {
    if (this.shared === null) return []
    return this.#withTargets(await this.#open().notes())
  }

  #withTargets(notes: readonly Note[]): readonly Note[] {
    if (notes.every(({ targets }) => targets.length === 0)) return notes
    const { objects, isPartial } = this.#scene()
    const index = indexObjects(objects)
    return notes.map(note => ({ ...note, targets: targetsNow(note.targets, index, isPartial) }))
  }

  /** Null: the user has ended the sharing, so that no note would be found again. */
  get shared() {
    return this.#parts.shared()
  }

  /** By id or number. Throws `resource_not_found`. */
  async find(word: string): Promise<Note> {
    this.#assertShared('resource_not_found')
    return findNote(await this.list(), word)
  }

  /**
   * Throws `note_state` when no document is shared, `limit_reached` when the document has as many
   * notes as it may, and `body_invalid` when a target is the name of several objects. The answer
   * marks targets that are not in the scene.
   */
  async add(given: NoteInput): Promise<Note> {
    this.#assertShared()
    const folder = this.#open()
    const input = { ...given, targets: this.#resolved(given.targets, folder) }
    const note = await folder.serially(() => this.#add(folder, input))
    this.#audit(note, 'add', given.author)
    return this.#withTargets([note])[0]!
  }

  async #add(folder: NoteFolder, input: NoteInput): Promise<Note> {
    // Else the checkpoint of a note that is refused would take the place of another.
    await folder.lastNumber()
    const id = randomBytes(4).toString('hex')
    // Before agents are told, who would change what is to be kept.
    const { facts, files } = await this.#parts.prover.keep(folder.document, id, input)
    // The application was asked for its newest scene meanwhile.
    const targets = this.#resolved(facts.targets, folder)
    const created_at = toRfc3339(systemClock.now())
    const added = JSON.stringify({ id, ...input, created_at, ...facts, targets })
    files.set(addFile, Buffer.from(added))
    await folder.add(id, files)
    return findNote(await folder.notes(), id)
  }

  /** The scene says nothing of the objects of a document that is not open any more. */
  #resolved(targets: readonly NoteTarget[], { document }: NoteFolder): readonly NoteTarget[] {
    if (targets.length === 0 || this.#parts.document().path !== document.path) return targets
    return resolveTargets(targets, indexObjects(this.#scene().objects))
  }

  /**
   * Throws `resource_not_found`, and `note_state` when no document is shared or the note does not
   * take the action now.
   */
  async act(word: string, { action, by, actor = by, text }: NoteAct): Promise<Note> {
    this.#assertShared()
    const folder = this.#open()
    const step = JSON.stringify({ by, at: toRfc3339(systemClock.now()), text })
    const { note, number } = await folder.serially(() => this.#take(folder, word, action, step))
    this.#audit(note, action, actor)
    return action === 'answer' ? this.#prove(folder, note, number) : note
  }

  async #take(folder: NoteFolder, word: string, action: NoteAction, step: string) {
    for (let taken = 0; ;) {
      const before = findNote(await folder.notes(), word)
      if (nextState(before.state, action) === null) {
        const message = `note ${before.number} is ${before.state}: ${action} does not apply`
        throw new ServiceError('note_state', message)
      }
      // Agents cannot fill a note up: a person still settles it.
      const most = action === 'answer' ? maxEntries : 2 * maxEntries
      const number = Math.max(before.entries.at(-1)?.number ?? 0, taken) + 1
      if (before.entries.length >= most) {
        throw new ServiceError('limit_reached', `a note with ${most} entries takes no ${action}`)
      }
      if (await folder.create(before, stepFile(number, action), step)) {
        return { note: findNote(await folder.notes(), before.id), number }
      }
      taken = number
    }
  }

  /** A picture of a note. Throws `resource_not_found`. */
  async picture(word: string, name: string): Promise<Buffer> {
    const note = await this.find(word)
    const png = await this.#open().read(note, `${name}.png`)
    if (png !== null) return png
    throw new ServiceError('resource_not_found', `note ${note.number} has no picture "${name}"`)
  }

  /**
   * The text of a JSON document with all notes, their proofs and pictures, in pieces; last the numbers
   * of those that are left out: they are damaged, or as JSON larger than `maxBytes`.
   */
  async *exported(maxBytes: number): AsyncGenerator<string> {
    this.#assertShared()
    const { log } = this.#parts
    const folder = this.#open()
    const leftOut: number[] = []
    let before = ''
    const numbers = await folder.numbers()
    yield '{"notes":['
    for (const number of numbers) {
      try {
        const text = JSON.stringify(exportedNote(await folder.filesOf(number)))
        if (Buffer.byteLength(text) > maxBytes)
          throw new Error(`it has more than ${maxBytes} bytes`)
        yield before + text
        before = ',\n'
      } catch (error) {
        log.warn({ note: number, reason: messageOf(error) }, 'a note is not exported')
        leftOut.push(number)
      }
    }
    yield leftOut.length === 0 ? ']}\n' : `],\n"left_out":${JSON.stringify(leftOut)}}\n`
  }

  /** Adds an exported note. Resolves with false when the document has it. Throws as `add`. */
  async import(value: unknown): Promise<{ note: Note; isNew: boolean }> {
    this.#assertShared()
    const { id, files } = importedNote(value)
    const folder = this.#open()
    const isNew = await folder.serially(() => folder.add(id, files))
    const note = findNote(await folder.notes(), id)
    if (isNew) this.#audit(note, 'import', 'host')
    return { note, isNew }
  }

  /** The answer is kept already; this adds what it has changed. */
  async #prove(folder: NoteFolder, answered: Note, number: number): Promise<Note> {
    try {
      const proof = await this.#parts.prover.prove(folder, answered, number)
      await folder.append(answered, stepFile(number, 'proof'), JSON.stringify(proof))
      return findNote(await folder.notes(), answered.id)
    } catch (error) {
      this.#parts.log.warn({ err: error, note: answered.id }, 'an answer could not be proved')
      return answered
    }
  }

  #audit({ id, number }: Note, action: NoteAction | 'add' | 'import', actor: string): void {
    // Without the text, which `notes://` has for those who may read it.
    this.#parts.audit.record({ action: `note.${action}`, actor, params: { id, number } })
  }

  #tell(changed: readonly Note[]): void {
    this.#listener(openNotesUri)
    this.#listener(allNotesUri)
    for (const { id } of changed) this.#listener(`notes://${id}`)
    for (const listener of this.#watchers) listener()
  }

  #assertShared(code: ErrorCode = 'note_state'): void {
    if (this.shared !== null) return
    throw new ServiceError(code, noDocument, { hint: 'connect the application first' })
  }

  #open(): NoteFolder {
    return (this.#opened = this.#folderOf(this.#parts.document()))
  }

  #folderOf(document: DocumentFolder): NoteFolder {
    if (this.#opened?.document.path === document.path) return this.#opened
    return new NoteFolder(document, this.#parts.log, changed => this.#tell(changed))
  }
}

/** As many as fit into so many bytes of JSON, in their order: open ones first, and newer ones. */
export function fittingNotes<Shown extends Pick<Note, 'state'>>(
  notes: Shown[],
  maxBytes: number,
): readonly Shown[] {
  let bytes = 1
  const wanted = notes.toReversed().toSorted((a, b) => Number(isOpen(b)) - Number(isOpen(a)))
  const fitting = new Set(
    wanted.filter(note => (bytes += Buffer.byteLength(JSON.stringify(note)) + 1) <= maxBytes),
  )
  return notes.filter(note => fitting.has(note))
}
