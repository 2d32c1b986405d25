import { z } from 'zod'
import { isJsonObject } from '../../lib/util/json.ts'
import { type MemberFailure, pointerTo } from '../../lib/host-link/member-reader.ts'
import { fail, ok, type Result } from '../../lib/util/result.ts'
import { cleanLines } from '../../lib/util/text.ts'
import { type Note, noteActions } from '../../lib/mcp/note.ts'
import type { NoteAct, NoteInput } from './notes.ts'

export const maxNoteTextChars = 4000
const maxNameChars = 255
const maxTargets = 100
/** The JSON of a view, which only the application reads. */
const maxViewChars = 4096

/** Makes a note, or takes an action on one. */
export interface NoteWriter {
  add(input: NoteInput): Promise<Note>
  act(word: string, act: NoteAct): Promise<Note>
}

const wrong = {
  text: `must have 1 to ${maxNoteTextChars} characters`,
  name: `must have 1 to ${maxNameChars} characters, and no control characters`,
  targets: `must be at most ${maxTargets} ids, or objects with "id" and "name"`,
  position: 'must be an array of three numbers',
  pin: 'must be two numbers from 0 to 1: a place on the picture',
  view: `must be an object of at most ${maxViewChars} characters`,
  frame: `must be a whole number from ${-(2 ** 31)} to ${2 ** 31}`,
}
/** Without what no reader sees and a terminal or a model takes as more than text. */
const noteText = z
  .string('must be a string')
  .transform(text => cleanLines(text).trim())
  .pipe(z.string().min(1, wrong.text).max(maxNoteTextChars, wrong.text))
const name = z
  .string(wrong.name)
  .regex(/^\P{Cc}{1,255}$/u, wrong.name)
  .default('unknown')
const word = z.string().min(1).max(maxNameChars)
const share = z.number(wrong.pin).min(0, wrong.pin).max(1, wrong.pin)
/** An id alone is taken for the name, too. */
export const noteTarget = z.union(
  [
    word.transform(id => ({ id, name: id })),
    z
      .object({ id: word, name: word.optional() })
      .transform(({ id, name: given = id }) => ({ id, name: given })),
  ],
  wrong.targets,
)
const newNote = z.strictObject({
  text: noteText,
  author: name,
  targets: z.array(noteTarget, wrong.targets).max(maxTargets, wrong.targets).default([]),
  position: z.array(z.number(wrong.position), wrong.position).length(3, wrong.position).optional(),
  pin: z.tuple([share, share], wrong.pin).optional(),
  view: z
    .record(z.string(), z.unknown(), wrong.view)
    .refine(view => JSON.stringify(view).length <= maxViewChars, wrong.view)
    .optional(),
  frame: z
    .int(wrong.frame)
    .min(-(2 ** 31), wrong.frame)
    .max(2 ** 31, wrong.frame)
    .optional(),
})
const answer = z.strictObject({ by: name, text: noteText })
const act = answer.partial({ text: true })

/** What a post to the rest of an address below `/host/v1/` does; null: it is not about notes. */
export function notePost(
  rest: string,
): ((body: unknown) => Result<(notes: NoteWriter) => Promise<Note>, MemberFailure>) | null {
  if (rest === 'notes') return body => checked(body, newNote, input => notes => notes.add(input))
  const [, id, given] = /^notes\/([\w-]{1,32})\/([a-z]{1,16})$/.exec(rest) ?? []
  if (id === undefined) return null
  const action = noteActions.find(each => each === given)
  const detail = `the action must be one of ${noteActions.join(', ')}`
  if (action === undefined) return () => fail({ pointer: '', detail })
  const schema = action === 'answer' ? answer : act
  return body => checked(body, schema, said => notes => notes.act(id, { action, ...said }))
}

/** A member that is null counts as absent. */
function checked<Value, Next>(
  body: unknown,
  schema: z.ZodType<Value>,
  next: (value: Value) => Next,
): Result<Next, MemberFailure> {
  const members = isJsonObject(body) ? Object.entries(body) : null
  const given = members && Object.fromEntries(members.filter(([, value]) => value !== null))
  const parsed = schema.safeParse(given)
  if (parsed.success) return ok(next(parsed.data))
  const [issue] = parsed.error.issues
  const isUnknown = issue?.code === 'unrecognized_keys'
  const member = String(isUnknown ? issue.keys[0] : issue?.path[0])
  if (given === null) return fail({ pointer: '', detail: 'must be an object' })
  const isMissing = !isUnknown && !Object.hasOwn(given, member)
  const detail = isUnknown ? 'is not known here' : isMissing ? 'is missing' : issue?.message
  return fail({ pointer: pointerTo('', member), detail: detail ?? '' })
}

/** The text of an answer as it is kept; null: it is empty or too long. */
export function keptText(text: string): string | null {
  return noteText.safeParse(text).data ?? null
}
