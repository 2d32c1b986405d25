import { z } from 'zod'
import { invalidMember, orThrow, withoutNulls } from '../../lib/host-link/check.ts'
import { maxNoteTextChars } from '../../lib/mcp/note-proof.ts'
import { cleanLines } from '../../lib/util/text.ts'
import { type Note, noteActions, noteTarget } from './note.ts'
import type { Notes } from './notes.ts'

const maxTargets = 100
/** The JSON of a view, which only the application reads. */
const maxViewChars = 4096

/** Makes a note, or takes an action on one. */
export type NoteWriter = Pick<Notes, 'add' | 'act'>

/** Without what no reader sees and a terminal or a model takes as more than text. */
export const noteText = z
  .string()
  .transform(text => cleanLines(text).trim())
  .pipe(z.string().min(1).max(maxNoteTextChars))
const name = z
  .string()
  .regex(/^\P{Cc}{1,255}$/u, 'must have 1 to 255 characters, and no control characters')
  .default('unknown')
const share = z.number().min(0).max(1)
const newNote = z.object({
  text: noteText,
  author: name,
  targets: z.array(noteTarget).max(maxTargets).default([]),
  position: z.array(z.number()).length(3).optional(),
  pin: z.tuple([share, share]).optional(),
  view: z
    .record(z.string(), z.unknown())
    .refine(
      view => JSON.stringify(view).length <= maxViewChars,
      `must have at most ${maxViewChars} characters`,
    )
    .optional(),
  frame: z.int32().optional(),
})
const answer = z.object({ by: name, text: noteText })
const act = answer.partial({ text: true })

/** Makes a note of a body, or takes an action on one. Throws `body_invalid`; `at` begins pointers. */
type NotePost = (body: unknown, at?: string) => (notes: NoteWriter) => Promise<Note>

/** What a post to the rest of an address below `/host/v1/` does; null: it is not about notes. */
export function notePost(rest: string): NotePost | null {
  if (rest === 'notes') {
    return (body, at) => {
      const input = orThrow(newNote, withoutNulls(body), at)
      return notes => notes.add(input)
    }
  }
  const [, id, given] = /^notes\/([\w-]{1,32})\/([a-z]{1,16})$/.exec(rest) ?? []
  if (id === undefined) return null
  const action = noteActions.find(each => each === given)
  if (action === undefined) {
    const detail = `the action must be one of ${noteActions.join(', ')}`
    return () => {
      throw invalidMember('', detail)
    }
  }
  const schema = action === 'answer' ? answer : act
  return (body, at) => {
    const said = orThrow(schema, withoutNulls(body), at)
    return notes => notes.act(id, { action, ...said })
  }
}
