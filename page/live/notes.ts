import type { summary } from '../../src/server/notes/notes-producer.ts'
import { type Carrier, readJson } from '../mcp/carrier.ts'

/** A row of `notes://all`. */
export type NoteRow = ReturnType<typeof summary>

/** The notes of the open document, newest first. */
export async function readNotes(carrier: Carrier): Promise<readonly NoteRow[]> {
  const rows: NoteRow[] = []
  let next: number | undefined = 0
  while (next !== undefined) {
    const uri: string = `notes://all?offset=${next}&limit=1000`
    const page: { notes: NoteRow[]; next_offset?: number } = await readJson(carrier, uri)
    rows.push(...page.notes)
    next = page.next_offset
  }
  return rows.toReversed()
}

/** Does it wait for the person who made it? */
export function waitsForPerson({ state }: Pick<NoteRow, 'state'>): boolean {
  return state === 'answered'
}
