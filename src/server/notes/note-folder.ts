import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { listPrivateFolder, withFileLock, writePrivateFile } from '../../lib/config/private-file.ts'
import { messageOf } from '../../lib/util/errors.ts'
import { FileFollower } from '../../lib/util/file-follower.ts'
import { parseJson } from '../../lib/util/json.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { type Note, noteStates } from './note.ts'

/** A note with the most entries and the longest texts has less. */
const maxChars = 16 * 1024 * 1024
const maxDepth = 16

/** The notes of one document, a file each. Several servers may share it. */
export class NoteFolder {
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

  /** By number, the oldest first. */
  async notes(): Promise<readonly Note[]> {
    await this.#follower.look(async () => {
      await this.#read()
      // A file that is mended in its place leaves the folder as it is.
      return this.#damaged.length === 0
    })
    return this.#notes
  }

  /** Those of the last look: the identical ones that did not change since. */
  get known(): readonly Note[] {
    return this.#notes
  }

  /** Ids of those that the last look could not read. */
  get damaged(): readonly string[] {
    return this.#damaged
  }

  /** False when a server, this one included, may have written since `notes` was called. */
  get isUnchanged(): boolean {
    return this.#follower.isUnchanged()
  }

  /** Writes a single note, as `write` does. */
  async writeOne(change: (notes: readonly Note[]) => Note): Promise<Note> {
    const [note] = await this.write(notes => [change(notes)])
    return note as Note
  }

  /**
   * Writes the notes that `change` makes of those that are there, in order. No other writer comes
   * between. Resolves with the notes as they are `known` now.
   */
  async write(change: (notes: readonly Note[]) => readonly Note[]): Promise<readonly Note[]> {
    return withFileLock(`${this.#path}.lock`, async () => {
      // What another process has written may have the time of what is known.
      const notes = change(await this.#read())
      for (const note of notes) {
        await writePrivateFile(join(this.#path, `${note.id}.json`), JSON.stringify(note))
      }
      const known = new Map((await this.#read()).map(note => [note.id, note]))
      return notes.map(note => known.get(note.id) ?? note)
    })
  }

  async #read(): Promise<readonly Note[]> {
    const names = await listPrivateFolder(this.#path)
    const files = names.filter(name => /^[0-9a-f]{8}\.json$/.test(name))
    const known = new Map(this.#notes.map(note => [note.id, note]))
    const read = await Promise.all(files.map(name => this.#readFile(name, known)))
    const notes = read.filter(note => note !== null)
    this.#notes = notes.toSorted((a, b) => a.number - b.number)
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

const text = z.string()
/** Only as much as keeps a damaged text from harm: it was written by a server. */
const kept = z.object({
  // Files are named by it.
  id: text.regex(/^[0-9a-f]{8}$/),
  number: z.int(),
  state: z.enum(noteStates),
  text,
  author: text,
  created_at: text,
  targets: z.array(z.object({ id: text, name: text })),
  entries: z.array(z.object({ action: text, by: text, at: text, text: text.optional() })),
})

/** Null: the text is damaged. The other notes are not lost with it. */
function parseNote(json: string): Note | null {
  const parsed = parseJson(json.slice(0, maxChars), maxDepth)
  return parsed.ok && kept.safeParse(parsed.value).success ? (parsed.value as Note) : null
}
