import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { changeFolder, namesIn } from '../../lib/config/shared-folder.ts'
import { messageOf } from '../../lib/util/errors.ts'
import { FileFollower } from '../../lib/util/file-follower.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { replaceFile } from '../../lib/util/replace-file.ts'
import type { Note } from './note.ts'
import { inOrder, type NoteStore, parseNote } from './note-store.ts'

/** The notes of one document, a file each. Several servers may share it. */
export class NoteFolder implements NoteStore {
  readonly #path: string
  readonly #log: Logger
  readonly #follower: FileFollower
  #notes: readonly Note[] = []
  #damaged: readonly string[] = []

  constructor(path: string, log: Logger) {
    this.#path = path
    this.#log = log
    this.#follower = new FileFollower(path)
  }

  async notes(): Promise<readonly Note[]> {
    await this.#follower.look(async () => {
      await this.#read()
      // A file that is mended in its place leaves the folder as it is.
      return this.#damaged.length === 0
    })
    return this.#notes
  }

  get known(): readonly Note[] {
    return this.#notes
  }

  get damaged(): readonly string[] {
    return this.#damaged
  }

  get isUnchanged(): boolean {
    return this.#follower.isUnchanged()
  }

  async write(change: (notes: readonly Note[]) => readonly Note[]): Promise<readonly Note[]> {
    return changeFolder(this.#path, 'note', async () => {
      // What another process has written may have the time of what is known.
      const notes = change(await this.#read())
      for (const note of notes) {
        await replaceFile(join(this.#path, `${note.id}.json`), JSON.stringify(note))
      }
      const known = new Map((await this.#read()).map(note => [note.id, note]))
      return notes.map(note => known.get(note.id) ?? note)
    })
  }

  async #read(): Promise<readonly Note[]> {
    const names = await namesIn(this.#path, 'the notes')
    const files = names.filter(name => /^[0-9a-f]{8}\.json$/.test(name))
    const known = new Map(this.#notes.map(note => [note.id, note]))
    const read = await Promise.all(files.map(name => this.#readFile(name, known)))
    this.#notes = inOrder(read)
    this.#damaged = files.filter((_, at) => read[at] === null).map(idOf)
    return this.#notes
  }

  /** A damaged file is said and left where it is; the other notes are not lost with it. */
  async #readFile(name: string, known: Map<string, Note>): Promise<Note | null> {
    const path = join(this.#path, name)
    const text = await readFile(path, 'utf8').catch((error: unknown) => error)
    const before = known.get(idOf(name))
    if (before !== undefined && JSON.stringify(before) === text) return before
    const note = typeof text === 'string' ? parseNote(text) : null
    if (note === null && !this.#damaged.includes(idOf(name))) {
      const reason = typeof text === 'string' ? 'damaged' : messageOf(text)
      this.#log.warn({ path, reason }, 'a note cannot be read')
    }
    return note
  }
}

function idOf(name: string): string {
  return name.slice(0, -'.json'.length)
}
