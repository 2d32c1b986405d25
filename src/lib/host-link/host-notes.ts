import type { Logger } from '../util/logger.ts'
import { isJsonObject, type JsonObject } from '../util/json.ts'
import type { AskFailure, Link } from './link.ts'
import { HostLinkError } from './errors.ts'
import { jsonText, type RawMembers } from './message-text.ts'

/** The server takes a picture first; after an answer it waits until the scene is still. */
const answerMs = 60_000

/** What the user of the application wants; the server checks the members. */
export interface NoteInput {
  readonly text: string
  readonly author?: string
  /** Ids of objects, or ids with names. */
  readonly targets?: readonly (string | { readonly id: string; readonly name: string })[]
  readonly position?: readonly [x: number, y: number, z: number]
  /** Comes back in the `shot` of a picture. */
  readonly view?: JsonObject
  readonly frame?: number
}

export interface ActInput {
  readonly text?: string
  readonly by?: string
}

export type NoteAction = 'answer' | 'accept' | 'reopen' | 'close'

export interface NoteState {
  readonly id: string
  readonly number: number
  /** `open`, `answered`, `accepted`, `reopened` or `closed` */
  readonly state: string
}

/** The notes of the open document, as `notes://{id}` has them; none while the link is down. */
export interface ShownNotes {
  readonly notes: readonly object[]
  /** The folder of their pictures; null while the link is down. */
  readonly pictures: string | null
}

interface HostNotesParts {
  readonly link: () => Link | null
  readonly onNotes: ((shown: ShownNotes) => void) | undefined
  readonly log: Logger
}

/** Makes notes and takes actions on them, and tells of those that there are. */
export class HostNotes {
  readonly #parts: HostNotesParts
  #areShown = false

  constructor(parts: HostNotesParts) {
    this.#parts = parts
  }

  async add(note: NoteInput): Promise<NoteState> {
    return this.#ask('note.add', { note: jsonText(note, 'the note') })
  }

  act(id: string, action: NoteAction, { text, by }: ActInput): Promise<NoteState> {
    const [note, did] = [JSON.stringify(id), JSON.stringify(action)]
    return this.#ask('note.act', { note, action: did, text: optional(text), by: optional(by) })
  }

  told(shown: ShownNotes): void {
    this.#areShown = shown.pictures !== null
    try {
      this.#parts.onNotes?.(shown)
    } catch (error) {
      this.#parts.log.error({ err: error }, 'onNotes failed')
    }
  }

  /** They may change unseen now. */
  linkEnded(): void {
    if (this.#areShown) this.told({ notes: [], pictures: null })
  }

  async #ask(type: string, members: RawMembers): Promise<NoteState> {
    const link = this.#parts.link()
    if (link === null) {
      throw failed({ code: 'disconnected', message: 'no server is connected', retryable: true })
    }
    const reply = await link.ask(type, members, answerMs)
    if (!reply.ok) throw failed(reply.failure)
    const { note } = reply.value
    if (isJsonObject(note)) return note as unknown as NoteState
    throw failed({ code: 'internal', message: 'the server names no note', retryable: false })
  }
}

function optional(text: string | undefined): string | undefined {
  return text === undefined ? undefined : JSON.stringify(text)
}

function failed({ code, message, retryable }: AskFailure): HostLinkError {
  return new HostLinkError(code, message, retryable)
}
