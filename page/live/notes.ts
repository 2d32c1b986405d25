import { signal } from '@preact/signals'
import type { Note } from '../../src/server/notes/note.ts'
import type { summary } from '../../src/server/notes/notes-producer.ts'
import { type Carrier, readJson } from '../mcp/carrier.ts'
import { refresher } from './refresh.ts'

/** `notes://all`: what a list says of a note. */
export type NoteRow = ReturnType<typeof summary>

/** The notes of the open document. */
export class NotesState {
  /** Newest first; null until they are known. */
  readonly rows = signal<readonly NoteRow[] | null>(null)
  /** Moves on with each change of any note. */
  readonly version = signal(0)
  readonly #carrier: Carrier

  constructor(carrier: Carrier) {
    this.#carrier = carrier
    const refresh = refresher(500, async () => {
      this.rows.value = await this.#read()
      this.version.value++
    })
    carrier.follow('notes://open', refresh)
  }

  detail(id: string): Promise<Note> {
    return readJson<Note>(this.#carrier, `notes://${id}`)
  }

  async #read(): Promise<readonly NoteRow[]> {
    const rows: NoteRow[] = []
    let next: number | undefined = 0
    while (next !== undefined) {
      const uri: string = `notes://all?offset=${next}&limit=100`
      const page: { notes: NoteRow[]; next_offset?: number } = await readJson(this.#carrier, uri)
      rows.push(...page.notes)
      next = page.next_offset
    }
    return rows.toReversed()
  }
}

/** Does it wait for the person who made it? */
export function waitsForPerson({ state }: Pick<NoteRow, 'state'>): boolean {
  return state === 'answered'
}
