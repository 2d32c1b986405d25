import { ServiceError } from '../../lib/util/errors.ts'
import type { Note, NoteAction, NoteState, NoteTarget } from '../../lib/mcp/note.ts'
import { isOfRun } from '../checkpoints/compare-scenes.ts'
import type { SceneNow } from '../resources/scene/producer.ts'

export const openNotesUri = 'notes://open'

const maxShownIds = 5

/** Which action leads from which state to which; docs/notes.md says who may take it. */
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

/** What has to happen before the action applies. */
const remedies: Readonly<Record<NoteAction, string>> = {
  answer: '; a person reopens a settled note before it is answered again',
  accept: '; only an answered note can be accepted',
  reopen: '',
  close: '',
}

export function notNow({ state, number }: Note, action: NoteAction): ServiceError {
  return new ServiceError('note_state', `note ${number} is ${state}: ${action} does not apply`, {
    hint: `read it again: its state may have changed${remedies[action]}`,
  })
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
  { names, ids }: Pick<SceneNow, 'names' | 'ids'>,
): readonly NoteTarget[] {
  const uids = new Map(Array.from(ids, ([uid, id]) => [id, { uid }]))
  return targets.map(target => {
    const { id: given } = target
    const named = () => [...names].flatMap(([id, name]) => (name === given ? [id] : []))
    const found = names.has(given) ? [given] : named()
    const [id] = found
    if (id === undefined) return target
    if (found.length > 1) {
      const shown = found.slice(0, maxShownIds).join(', ')
      const detail = `${found.length} objects have the name "${given}"; use an id: ${shown}`
      throw new ServiceError('body_invalid', detail)
    }
    // An id alone was taken for the name, too.
    const name = target.name === given ? (names.get(id) ?? given) : target.name
    return { id, name, ...uids.get(id) }
  })
}

/** Ids and names of now of the objects that are still there, as a proof finds them; others are gone. */
export function targetsNow(
  targets: readonly NoteTarget[],
  { names, ids, isPartial }: Pick<SceneNow, 'names' | 'ids' | 'isPartial'>,
): readonly NoteTarget[] {
  const uids = targets.some(({ uid }) => uid !== undefined) ? [...ids.keys()] : []
  const named = Map.groupBy(names.keys(), id => names.get(id))
  const idNow = ({ id, name, uid = '' }: NoteTarget): string | undefined => {
    if (ids.has(uid) || isOfRun(uid, uids)) return ids.get(uid)
    const [other, ...more] = named.get(name) ?? []
    return names.has(id) || more.length > 0 ? id : other
  }
  return targets.map(target => {
    const id = idNow(target)
    const name = names.get(id ?? '')
    if (id === undefined || name === undefined)
      return isPartial ? target : { ...target, gone: true }
    return { ...target, id, name, ...(name !== target.name && { was: target.name }) }
  })
}

/**
 * The note of this id, unique beginning of it, or number. Throws `resource_not_found`, and
 * `resource_failed` for one of the numbers that are `damaged`.
 */
export function findNote(notes: readonly Note[], word: string, damaged: readonly number[]): Note {
  // An id may begin with digits alone.
  const numbered = notes.filter(({ number }) => String(number) === word)
  const named = notes.filter(({ id }) => word.length >= 4 && id.startsWith(word))
  const found = numbered.length > 0 ? numbered : named
  const [note, ...others] = found
  if (note !== undefined && others.length === 0) return note
  if (damaged.some(number => String(number) === word)) {
    throw new ServiceError('resource_failed', `note ${word} cannot be read`, {
      hint: 'the log of the server has the reason',
    })
  }
  const open = notes.filter(isOpen).map(({ number, id }) => `${number} (${id})`)
  const known =
    open.length === 0 ? 'all its notes are settled' : `unsettled: ${open.slice(0, 10).join(', ')}`
  // The id may be that of one of these.
  const lost = damaged.length === 0 ? '' : `; cannot be read: ${damaged.slice(0, 10).join(', ')}`
  throw new ServiceError('resource_not_found', `this document has no such note; ${known}${lost}`)
}
