import { messageOf, ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { DocumentFolder } from '../checkpoints/document-folder.ts'
import { findNote, type Note } from './note.ts'
import { isKeptName, isStepName, maxBytesOf, type NoteFiles, noteOf } from './note-files.ts'

/** Of one document, which numbers them; closed ones count. */
const maxNotes = 1000

interface KnownNote {
  readonly number: number
  /** Of the files of which it was made. */
  readonly names: string
  /** Null: it cannot be read. */
  readonly note: Note | null
}

/**
 * The notes of one document: a folder for each, named by its number, with a file for each action.
 * Several servers may share it, also from several machines.
 */
export class NoteFolder {
  /** The one that it belongs to now. */
  document: DocumentFolder
  #folder: DocumentFolder
  readonly #log: Logger
  readonly #onChanged: (changed: readonly Note[]) => void
  /** As read last, by number: a note is the identical one until there is another file of it. */
  #known = new Map<number, KnownNote>()
  #hasLooked = false
  #looking: Promise<unknown> = Promise.resolve()
  /** A look that has not begun: it serves every caller until then. */
  #next: Promise<readonly Note[]> | null = null
  #writing: Promise<unknown> = Promise.resolve()

  /** `onChanged` is called when a look finds that notes changed, also those of another server. */
  constructor(
    document: DocumentFolder,
    log: Logger,
    onChanged: (changed: readonly Note[]) => void,
  ) {
    this.document = document
    this.#folder = document.folder('notes')
    this.#log = log
    this.#onChanged = onChanged
  }

  get path(): string {
    return this.#folder.path
  }

  /** By number. The look begins after the call. */
  notes(): Promise<readonly Note[]> {
    this.#next ??= this.#looking.then(() => {
      this.#next = null
      return this.#look()
    })
    this.#looking = this.#next.catch(() => {})
    return this.#next
  }

  get #notes(): readonly Note[] {
    return [...this.#known.values()].flatMap(({ note }) => note ?? [])
  }

  /** Those of all notes, also of damaged ones. */
  async numbers(): Promise<readonly number[]> {
    await this.notes()
    return [...this.#known.keys()]
  }

  /** Runs writes of this server one after the other. Other servers may write between them. */
  serially<Value>(write: () => Promise<Value>): Promise<Value> {
    const written = this.#writing.then(write)
    this.#writing = written.catch(() => {})
    return written
  }

  /** Throws `limit_reached`: the document takes no more notes. */
  async lastNumber(): Promise<number> {
    await this.notes()
    const last = Math.max(0, ...this.#known.keys())
    if (last < maxNotes) return last
    throw new ServiceError('limit_reached', `a document has at most ${maxNotes} notes`)
  }

  /**
   * Goes with its document. `bring`, which does not reject, takes the files along when all is written
   * that is being written; what is read or written later waits for it.
   */
  follow(document: DocumentFolder, bring: () => Promise<void>): Promise<void> {
    this.document = document
    return this.serially(async () => {
      const brought = this.#looking.then(bring).then(() => {
        this.#folder = document.folder('notes')
        this.#hasLooked = false
      })
      this.#looking = brought
      await brought
    })
  }

  /** Keeps a new note. False: there is one of this id. Throws `limit_reached`. */
  async add(id: string | undefined, files: NoteFiles): Promise<boolean> {
    let number = (await this.lastNumber()) + 1
    if (this.#notes.some(note => note.id === id)) return false
    // Another machine may have taken the number.
    while (!(await this.#of(number).createWith(files))) number++
    return true
  }

  /** Adds a file to a note. False: it has one of this name. */
  create({ number }: Note, name: string, data: string | Uint8Array): Promise<boolean> {
    return this.#of(number).create(name, data)
  }

  /** As `create`, after all that is being written. Throws `resource_not_found`. */
  append({ id }: Note, name: string, data: string | Uint8Array): Promise<boolean> {
    return this.serially(async () => this.create(findNote(await this.notes(), id), name, data))
  }

  /** Null: the note has no such file. Throws `resource_not_found`. */
  async read({ id }: Note, name: string): Promise<Buffer | null> {
    const { number } = findNote(await this.notes(), id)
    return this.#of(number).read(name, maxBytesOf(name))
  }

  /** All that is kept of a note, or its files with these names. */
  async filesOf(number: number, names?: readonly string[]): Promise<NoteFiles> {
    const files = new Map<string, Buffer>()
    for (const name of names ?? (await this.#namesIn(number))) {
      files.set(name, (await this.#of(number).read(name, maxBytesOf(name))) ?? Buffer.alloc(0))
    }
    return files
  }

  /** Gives another document the notes that it does not have; with `isAll` those that are damaged, too. */
  async copyTo(other: NoteFolder, isAll: boolean): Promise<void> {
    await this.notes()
    for (const { number, note } of this.#known.values()) {
      if (note !== null || isAll) await other.add(note?.id, await this.filesOf(number))
    }
  }

  #of(number: number): DocumentFolder {
    return this.#folder.folder(String(number).padStart(4, '0'))
  }

  async #namesIn(number: number): Promise<string[]> {
    return (await this.#of(number).list()).filter(isKeptName).toSorted()
  }

  async #look(): Promise<readonly Note[]> {
    const names = (await this.#folder.list()).filter(name => /^\d{4}$/.test(name)).toSorted()
    const found = await Promise.all(names.map(name => this.#read(Number(name))))
    const before = new Set(this.#notes)
    this.#known = new Map(found.map(each => [each.number, each]))
    const changed = this.#notes.filter(note => !before.has(note))
    if (this.#hasLooked && changed.length > 0) this.#onChanged(changed)
    this.#hasLooked = true
    return this.#notes
  }

  /** A damaged note is named in the log and left where it is; the others are not lost with it. */
  async #read(number: number): Promise<KnownNote> {
    const before = this.#known.get(number)
    try {
      const steps = (await this.#namesIn(number)).filter(isStepName)
      const names = steps.join()
      if (before?.note && before.names === names) return before
      return { number, names, note: noteOf(number, await this.filesOf(number, steps)) }
    } catch (error) {
      if (before?.note !== null) {
        const { path } = this.#of(number)
        this.#log.warn({ path, reason: messageOf(error) }, 'a note cannot be read')
      }
      return { number, names: '', note: null }
    }
  }
}
