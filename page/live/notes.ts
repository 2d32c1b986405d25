import type { summary } from '../../src/server/notes/notes-producer.ts'
import { type Carrier, readJson } from '../mcp/carrier.ts'

/** A row of `notes://all`. */
export type NoteRow = ReturnType<typeof summary>

/** A part of `notes://all`; without `shared` a document is shared. */
interface NotePage {
  readonly notes: readonly NoteRow[]
  readonly next_offset?: number
  readonly shared?: false
}

/** The notes of the open document, newest first; without a shared document there are none. */
export async function readNotes(carrier: Carrier) {
  const rows: NoteRow[] = []
  let isShared = true
  let next: number | undefined = 0
  while (next !== undefined) {
    const uri: string = `notes://all?offset=${next}&limit=1000`
    const page: NotePage = await readJson(carrier, uri)
    rows.push(...page.notes)
    isShared = page.shared !== false
    next = page.next_offset
  }
  return { rows: rows.toReversed(), isShared }
}

/** Does it wait for the person who made it? */
export function waitsForPerson({ state }: Pick<NoteRow, 'state'>): boolean {
  return state === 'answered'
}
