import type { JsonObject } from '../util/json.ts'
import type { NoteProof } from './note-proof.ts'

/** Members of a note have the same names in memory, in its files and on the wire. */
export interface Note {
  /** 8 hex digits. */
  readonly id: string
  /** Counts the notes of one document; shown beside its pin. */
  readonly number: number
  readonly state: NoteState
  readonly text: string
  readonly author: string
  /** RFC 3339 */
  readonly created_at: string
  /** The objects that it is about. */
  readonly targets: readonly NoteTarget[]
  /** Where the pin is, in the units of the scene; absent: nowhere. */
  readonly position?: readonly number[]
  /** Where on the picture `before` it is: shares of width and height, from the top left. */
  readonly pin?: readonly [number, number]
  /** The view in which it was made, as the application takes it back for a picture. */
  readonly view?: JsonObject
  readonly frame?: number
  /** Name of that scene among the checkpoints; null: it is not kept. */
  readonly checkpoint: string | null
  /** URI of the picture of that moment. */
  readonly before?: string
  /** Why there is none. */
  readonly no_picture?: string
  /** What happened since, oldest first. */
  readonly entries: readonly NoteEntry[]
}

export interface NoteTarget {
  readonly id: string
  readonly name: string
  /** Of the object, where it has one: it is the same under another name. */
  readonly uid?: string
  /** Only of now: the name at that time, if it has another one, and whether it is there no more. */
  readonly was?: string
  readonly gone?: true
}

export interface NoteEntry {
  /** Counts the actions of the note. Two that were taken at the same moment may have the same one. */
  readonly number: number
  readonly action: NoteAction
  /** The author, or the principal of the endpoint. */
  readonly by: string
  /** RFC 3339 */
  readonly at: string
  readonly text?: string
  /** It did not fit the state that the note already had, and changed nothing. */
  readonly late?: true
  /** Of an answer; absent while it is made, or when the server was ended meanwhile. */
  readonly proof?: NoteProof
}

export const noteStates = ['open', 'answered', 'accepted', 'reopened', 'closed'] as const
export type NoteState = (typeof noteStates)[number]

export const noteActions = ['answer', 'accept', 'reopen', 'close'] as const
export type NoteAction = (typeof noteActions)[number]
