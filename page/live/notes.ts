import type { summary } from '../../src/server/notes/notes-producer.ts'
import { type Carrier, readJson } from '../mcp/carrier.ts'

/** A row of `notes://all`. */
export type NoteRow = ReturnType<typeof summary>

/** Without `shared` a document is shared. */
interface NoteList {
  readonly notes: readonly NoteRow[]
  readonly shared?: false
}

/** The notes of the open document, newest first; without a shared document there are none. */
export async function readNotes(carrier: Carrier) {
  const list: NoteList = await readJson(carrier, 'notes://all')
  return { rows: list.notes.toReversed(), isShared: list.shared !== false }
}

/** Does it wait for the person who made it? */
export function waitsForPerson({ state }: Pick<NoteRow, 'state'>): boolean {
  return state === 'answered'
}
