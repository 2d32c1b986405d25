import { MemberReader, type MemberFailure } from '../../lib/util/member-reader.ts'
import { isJsonObject } from '../../lib/util/json.ts'
import { cleanLines } from '../../lib/util/text.ts'
import { omitUndefined } from '../../lib/util/members.ts'
import { fail, ok, type Result } from '../../lib/util/result.ts'
import { type Note, noteActions, type NoteTarget } from './note.ts'
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

/** What a post to the rest of an address below `/host/v1/` does; null: it is not about notes. */
export function notePost(
  rest: string,
): ((body: unknown) => Result<(notes: NoteWriter) => Promise<Note>, MemberFailure>) | null {
  if (rest === 'notes') {
    return body => mapOk(parseNote(body), input => notes => notes.add(input))
  }
  const [, id, action] = /^notes\/([\w-]{1,32})\/([a-z]{1,16})$/.exec(rest) ?? []
  if (id === undefined || action === undefined) return null
  return body => mapOk(parseAct(action, body), act => notes => notes.act(id, act))
}

function mapOk<Value, Next, Failure>(
  result: Result<Value, Failure>,
  next: (value: Value) => Next,
): Result<Next, Failure> {
  return result.ok ? ok(next(result.value)) : result
}

/** `{"text", "author"?, "targets"?, "position"?, "pin"?, "view"?, "frame"?}` */
function parseNote(body: unknown): Result<NoteInput, MemberFailure> {
  const reader = new MemberReader(body, '')
  const view = reader.any('view')
  if (view !== undefined && !(isJsonObject(view) && JSON.stringify(view).length <= maxViewChars)) {
    reader.refuse('view', `must be an object of at most ${maxViewChars} characters`)
  }
  return reader.finish<NoteInput>(
    omitUndefined({
      text: reader.required('text', noteText(reader), ''),
      author: reader.name('author', maxNameChars) ?? 'unknown',
      targets: targetsOf(reader),
      position: positionOf(reader),
      pin: pinOf(reader),
      view: isJsonObject(view) ? view : undefined,
      frame: reader.integer('frame', -(2 ** 31), 2 ** 31),
    }),
  )
}

/** `{"by"?, "text"?}` */
function parseAct(action: string, body: unknown): Result<NoteAct, MemberFailure> {
  const known = noteActions.find(each => each === action)
  const reader = new MemberReader(body, '')
  if (known === undefined) {
    return fail({ pointer: '', detail: `the action must be one of ${noteActions.join(', ')}` })
  }
  const text = noteText(reader)
  if (known === 'answer' && text === undefined) reader.refuse('text', 'is missing')
  const by = reader.name('by', maxNameChars) ?? 'unknown'
  return reader.finish<NoteAct>({ action: known, by, text })
}

/**
 * The text of a note or an answer as it is kept: without what no reader sees and a terminal or a
 * model takes as more than text. Null: it is empty or too long.
 */
export function keptText(text: string): string | null {
  const kept = cleanLines(text).trim()
  return kept !== '' && kept.length <= maxNoteTextChars ? kept : null
}

function noteText(reader: MemberReader): string | undefined {
  const text = reader.text('text')
  if (text === undefined) return undefined
  return keptText(text) ?? reader.refuse('text', `must have 1 to ${maxNoteTextChars} characters`)
}

function targetsOf(reader: MemberReader): readonly NoteTarget[] {
  const given = reader.any('targets')
  if (given === undefined) return []
  const targets = Array.isArray(given) ? given.map(targetOf) : [null]
  const known = targets.filter(target => target !== null)
  if (known.length === targets.length && known.length <= maxTargets) return known
  reader.refuse('targets', `must be at most ${maxTargets} ids, or objects with "id" and "name"`)
  return []
}

function targetOf(value: unknown): NoteTarget | null {
  if (typeof value === 'string') return targetOf({ id: value, name: value })
  if (!isJsonObject(value)) return null
  const { id, name = id } = value
  const isWord = (text: unknown): text is string =>
    typeof text === 'string' && text !== '' && text.length <= maxNameChars
  return isWord(id) && isWord(name) ? { id, name } : null
}

function positionOf(reader: MemberReader): readonly number[] | undefined {
  const value = reader.any('position')
  if (value === undefined) return undefined
  const isPoint =
    Array.isArray(value) && value.length === 3 && value.every(each => Number.isFinite(each))
  return isPoint ? value : reader.refuse('position', 'must be an array of three numbers')
}

function pinOf(reader: MemberReader): readonly [number, number] | undefined {
  const value = reader.any('pin')
  if (value === undefined) return undefined
  const [x, y, ...others]: unknown[] = Array.isArray(value) ? value : []
  if (isShare(x) && isShare(y) && others.length === 0) return [x, y]
  return reader.refuse('pin', 'must be two numbers from 0 to 1: a place on the picture')
}

function isShare(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 1
}
