import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { takeFileLock } from '../../lib/config/file-lock.ts'
import { errnoOf, messageOf, ServiceError } from '../../lib/util/errors.ts'
import { FileFollower } from '../../lib/util/file-follower.ts'
import { isJsonObject, parseJson } from '../../lib/util/json.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { replaceFile } from '../../lib/util/replace-file.ts'
import { type Note, noteStates } from './note.ts'

const lockWaitMs = 10_000
/** A note with the most entries and the longest texts has less. */
const maxFileChars = 16 * 1024 * 1024
const maxDepth = 16

/** The notes of one document, a file each. Several servers may share it. */
export class NoteFolder {
  readonly #path: string
  readonly #log: Logger
  readonly #follower: FileFollower
  #notes: readonly Note[] = []

  constructor(path: string, log: Logger) {
    this.#path = path
    this.#log = log
    this.#follower = new FileFollower(path)
  }

  /** By number, the oldest first. */
  async notes(): Promise<readonly Note[]> {
    await this.#follower.look(async () => {
      await this.#read()
      return true
    })
    return this.#notes
  }

  /** Those of the last look. */
  get known(): readonly Note[] {
    return this.#notes
  }

  /** Did a process, this one included, write since `notes` was called? */
  get isUnchanged(): boolean {
    return this.#follower.isUnchanged()
  }

  /** Writes the note that `change` makes of those that are there; no other writer comes between. */
  async write(change: (notes: readonly Note[]) => Note): Promise<Note> {
    try {
      await mkdir(this.#path, { recursive: true, mode: 0o700 })
      const lock = await takeFileLock(`${this.#path}.lock`, { waitMs: lockWaitMs })
      if (!lock.ok) throw new ServiceError('storage_failed', 'the notes are locked for too long')
      try {
        // What another process has written may have the time of what is known.
        const note = change(await this.#read())
        await replaceFile(join(this.#path, `${note.id}.json`), JSON.stringify(note))
        await this.#read()
        return note
      } finally {
        lock.value()
      }
    } catch (error) {
      if (error instanceof ServiceError) throw error
      throw new ServiceError('storage_failed', `the note cannot be kept: ${messageOf(error)}`)
    }
  }

  async #read(): Promise<readonly Note[]> {
    const names = await readdir(this.#path).catch((error: unknown) => {
      if (errnoOf(error) === 'ENOENT') return []
      throw new ServiceError('storage_failed', `the notes cannot be read: ${messageOf(error)}`)
    })
    const files = names.filter(name => /^[0-9a-f]{8}\.json$/.test(name))
    const known = new Map(this.#notes.map(note => [note.id, note]))
    const read = await Promise.all(files.map(name => this.#readFile(name, known)))
    const notes = read.filter(note => note !== null).toSorted((a, b) => a.number - b.number)
    this.#notes = notes
    return notes
  }

  /** A damaged file is said and left where it is; the other notes are not lost with it. */
  async #readFile(name: string, known: ReadonlyMap<string, Note>): Promise<Note | null> {
    const path = join(this.#path, name)
    const text = await readFile(path, 'utf8').catch(() => '')
    const before = known.get(name.slice(0, -'.json'.length))
    if (before !== undefined && JSON.stringify(before) === text) return before
    const parsed = parseJson(text.slice(0, maxFileChars), maxDepth)
    if (parsed.ok && isNote(parsed.value)) return parsed.value
    this.#log.warn({ path }, 'a note cannot be read')
    return null
  }
}

/** Only as much as keeps a damaged file from harm: the file is this user's own. */
function isNote(value: unknown): value is Note {
  if (!isJsonObject(value)) return false
  const { id, number, state, text, targets, entries } = value
  return (
    typeof id === 'string' &&
    Number.isSafeInteger(number) &&
    noteStates.some(one => one === state) &&
    typeof text === 'string' &&
    Array.isArray(targets) &&
    Array.isArray(entries)
  )
}
