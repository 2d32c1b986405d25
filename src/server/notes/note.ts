import { z } from 'zod'
import { ServiceError } from '../../lib/util/errors.ts'
import type { NoteProof } from '../../lib/mcp/note-proof.ts'
import { asText } from '../../lib/util/text.ts'
import { findTarget, labelsOf, type ObjectIndex } from '../checkpoints/compare-scenes.ts'

export const openNotesUri = 'notes://open'
export const allNotesUri = 'notes://all'

const maxShownIds = 5

const text = z.string()
/** A note as it is made. Its members have the same names in memory, in its file and on the wire. */
export const addedNote = z.object({
  /** 8 hex digits. */
  id: text.regex(/^[0-9a-f]{8}$/),
  text,
  author: text,
  /** RFC 3339 */
  created_at: text,
  /** The objects that it is about. `uid`: the same under another name, where an object has one. */
  targets: z.array(z.object({ id: text, name: text, uid: text.optional() })),
  /** Where the pin is, in the units of the scene; absent: nowhere. */
  position: z.array(z.number()).length(3).optional(),
  /** Where on the picture `before` it is: shares of width and height, from the top left. */
  pin: z.tuple([z.number(), z.number()]).optional(),
  /** The view in which it was made, as the application takes it back for a picture. */
  view: z.record(z.string(), z.unknown()).optional(),
  frame: z.int().optional(),
  /** Name of that scene among the checkpoints; null: it is not kept. */
  checkpoint: text.nullable(),
  /** URI of the picture of that moment. */
  before: text.optional(),
  /** Why there is none. */
  no_picture: text.optional(),
})

const word = z.string().min(1).max(255)
/** An id alone is taken for the name, too. */
export const noteTarget = z.union(
  [
    word.transform(id => ({ id, name: id })),
    z
      .object({ id: word, name: word.optional() })
      .transform(({ id, name: given = id }) => ({ id, name: given })),
  ],
  'must be an id, or an object with "id" and "name"',
)

/** An action as it is kept. `by`: the author, or the principal of the endpoint. */
export const noteAct = z.object({ by: text, at: text, text: text.optional() })

export interface Note extends Omit<z.infer<typeof addedNote>, 'targets'> {
  /** Counts the notes of one document; shown beside its pin. */
  readonly number: number
  readonly state: NoteState
  readonly targets: readonly NoteTarget[]
  /** What happened since, oldest first. */
  readonly entries: readonly NoteEntry[]
}

/** What the person says; the rest is filled in. */
export type NoteInput = Pick<
  Note,
  'text' | 'author' | 'targets' | 'position' | 'pin' | 'view' | 'frame'
>

export type NoteTarget = z.infer<typeof addedNote>['targets'][number] & {
  /** Only of now: the name at that time, if it has another one, and whether it is there no more. */
  readonly was?: string
  readonly gone?: true
}

export interface NoteEntry extends z.infer<typeof noteAct> {
  /** Counts the actions of the note. Two that were taken at the same moment may have the same one. */
  readonly number: number
  readonly action: NoteAction
  /** It did not fit the state that the note already had, and changed nothing. */
  readonly late?: true
  /** Of an answer; absent while it is made, or when the server was ended meanwhile. */
  readonly proof?: NoteProof
}

export const noteStates = ['open', 'answered', 'accepted', 'reopened', 'closed'] as const
export type NoteState = (typeof noteStates)[number]

export const noteActions = ['answer', 'accept', 'reopen', 'close'] as const
export type NoteAction = (typeof noteActions)[number]

/** Which action leads from which state to which; docs/resources.md has this table. */
const steps: Readonly<Record<NoteAction, Partial<Record<NoteState, NoteState>>>> = {
  answer: { open: 'answered', answered: 'answered', reopened: 'answered' },
  accept: { answered: 'accepted' },
  reopen: { answered: 'reopened', accepted: 'reopened', closed: 'reopened' },
  close: { open: 'closed', answered: 'closed', reopened: 'closed', accepted: 'closed' },
}

/** Null: a note in this state does not take the action. */
export function nextState(state: NoteState, action: NoteAction): NoteState | null {
  return steps[action][state] ?? null
}

/** Whether it waits for the agent or for the person. */
export function isOpen({ state }: Pick<Note, 'state'>): boolean {
  return state !== 'accepted' && state !== 'closed'
}

/**
 * Targets with the ids and names of their objects, where only one of both was given, and with their
 * `uid`. Throws `body_invalid` for a name that several objects have.
 */
export function resolveTargets(
  targets: readonly NoteTarget[],
  { ids, names }: ObjectIndex,
): readonly NoteTarget[] {
  return targets.map(target => {
    const { id: given } = target
    const found = ids.get(given) ?? names.get(given) ?? []
    const [object] = found
    if (object === undefined) return target
    const { id, name } = labelsOf(object)
    if (found.length > 1 && id !== given) {
      const shown = found.slice(0, maxShownIds).map(each => labelsOf(each).id)
      const detail = `${found.length} objects have the name "${given}"; use an id: ${shown.join(', ')}`
      throw new ServiceError('body_invalid', detail)
    }
    // An id alone was taken for the name, too.
    const known = target.name === given ? name : target.name
    return { id, name: known, ...(object.uid != null && { uid: asText(object.uid) }) }
  })
}

/** Ids and names of now of the objects that are still there, as a proof finds them; others are gone. */
export function targetsNow(
  targets: readonly NoteTarget[],
  objects: ObjectIndex,
  isPartial: boolean,
): readonly NoteTarget[] {
  return targets.map(target => {
    const [object] = findTarget(objects, target)
    if (object === undefined) return isPartial ? target : { ...target, gone: true }
    const { id, name } = labelsOf(object)
    return { ...target, id, name, ...(name !== target.name && { was: target.name }) }
  })
}

/** The note of this id or number. Throws `resource_not_found`. */
export function findNote(notes: readonly Note[], word: string): Note {
  const note = notes.find(({ id, number }) => id === word || String(number) === word)
  if (note !== undefined) return note
  throw new ServiceError('resource_not_found', 'this document has no such note', {
    hint: 'list its notes, and name one by its id or number',
  })
}
