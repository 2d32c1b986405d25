import { z } from 'zod'
import { parseJson } from '../../lib/util/json.ts'
import { type Note, noteStates } from './note.ts'

/** A note with the most entries and the longest texts has less. */
const maxChars = 16 * 1024 * 1024
const maxDepth = 16
/** Of one document; closed ones count. */
export const maxNotes = 1000

/** The notes of one document. Several servers may share it. */
export interface NoteStore {
  /** By number, the oldest first. */
  notes(): Promise<readonly Note[]>
  /** Those of the last look: the identical ones that did not change since. */
  readonly known: readonly Note[]
  /** Ids of those that the last look could not read. */
  readonly damaged: readonly string[]
  /** False when a server, this one included, may have written since `notes` was called. */
  readonly isUnchanged: boolean
  /**
   * Writes the notes that `change` makes of those that are there, in order. No other writer comes
   * between. Resolves with the notes as they are `known` now.
   */
  write(change: (notes: readonly Note[]) => readonly Note[]): Promise<readonly Note[]>
}

/** Writes a single note, as `NoteStore.write` does. */
export async function writeNote(
  store: NoteStore,
  change: (notes: readonly Note[]) => Note,
): Promise<Note> {
  const [note] = await store.write(notes => [change(notes)])
  return note as Note
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
export function parseNote(json: string): Note | null {
  const parsed = parseJson(json.slice(0, maxChars), maxDepth)
  return parsed.ok && kept.safeParse(parsed.value).success ? (parsed.value as Note) : null
}

export function inOrder(notes: (Note | null)[]): readonly Note[] {
  return notes.filter(note => note !== null).toSorted((a, b) => a.number - b.number)
}
