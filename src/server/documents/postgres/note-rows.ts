import type { Logger } from '../../../lib/util/logger.ts'
import { asUnavailable } from '../../database/errors.ts'
import type { Database, Queries } from '../../database/pool.ts'
import type { Note } from '../../notes/note.ts'
import { inOrder, type NoteStore, parseNote } from '../../notes/note-store.ts'

/** The channel of NOTIFY after a note was written. */
export const notesChannel = 'document_notes'

const lock = `SELECT pg_advisory_xact_lock(hashtext('document_notes'), hashtext($1))`
const selectChanges = 'SELECT id, change FROM document_notes WHERE document = $1'
const selectNotes = `SELECT id, change, note FROM document_notes WHERE document = $1
  AND id = ANY($2)`
const upsert = `INSERT INTO document_notes (document, id, note, change)
  VALUES ($1, $2, $3, nextval('document_changes'))
  ON CONFLICT (document, id) DO UPDATE SET note = excluded.note, change = excluded.change
  RETURNING change`
const notify = `SELECT pg_notify('${notesChannel}', '')`

interface NoteRowsParts {
  readonly database: Database
  /** Grows with each notice, and with each poll in case one was lost. */
  readonly notices: () => number
  readonly log: Logger
}

interface Row {
  readonly id: string
  readonly change: number
  readonly note: string
}

interface KnownNote {
  readonly change: number
  /** Null: the row is damaged. */
  readonly note: Note | null
}

/** The notes of one document in PostgreSQL. */
export class NoteRows implements NoteStore {
  readonly #document: string
  readonly #parts: NoteRowsParts
  #known: ReadonlyMap<string, KnownNote> = new Map()
  #seen = -1

  constructor(document: string, parts: NoteRowsParts) {
    this.#document = document
    this.#parts = parts
  }

  async notes(): Promise<readonly Note[]> {
    const { database, notices } = this.#parts
    const seen = notices()
    const read = database.run('the notes were not read', queries => this.#read(queries))
    const notes = await read.catch(asUnavailable)
    this.#seen = seen
    return notes
  }

  get known(): readonly Note[] {
    return inOrder(Array.from(this.#known.values(), ({ note }) => note))
  }

  get damaged(): readonly string[] {
    return [...this.#known].flatMap(([id, { note }]) => (note === null ? [id] : []))
  }

  get isUnchanged(): boolean {
    return this.#seen === this.#parts.notices()
  }

  async write(change: (notes: readonly Note[]) => readonly Note[]): Promise<readonly Note[]> {
    const document = this.#document
    const written = this.#parts.database.transact('the note was not kept', async queries => {
      await queries.rows(lock, document)
      const known: (KnownNote & { readonly note: Note })[] = []
      for (const note of change(await this.#read(queries))) {
        const values = [document, note.id, JSON.stringify(note)] as const
        const row = await queries.one<{ change: number }>(upsert, ...values)
        known.push({ ...row, note })
      }
      await queries.rows(notify)
      return known
    })
    const known = await written.catch(asUnavailable)
    this.#known = new Map([...this.#known, ...known.map(each => [each.note.id, each] as const)])
    return known.map(({ note }) => note)
  }

  async #read(queries: Queries): Promise<readonly Note[]> {
    const document = this.#document
    const before = this.#known
    const rows = await queries.rows<Omit<Row, 'note'>>(selectChanges, document)
    const changedRows = rows.filter(({ id, change }) => before.get(id)?.change !== change)
    const wanted = changedRows.map(({ id }) => id)
    const read = wanted.length === 0 ? [] : await queries.rows<Row>(selectNotes, document, wanted)
    const changed = read.map(({ id, change, note: text }): readonly [string, KnownNote] => {
      const note = parseNote(text)
      if (note === null) this.#parts.log.warn({ document, id }, 'a note cannot be read')
      return [id, { change, note }]
    })
    const known = new Map([...before, ...changed])
    const ids = new Set(rows.map(({ id }) => id))
    this.#known = new Map([...known].filter(([id]) => ids.has(id)))
    return this.known
  }
}
