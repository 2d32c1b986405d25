import { randomBytes } from 'node:crypto'
import { type ErrorCode, ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { systemClock, systemTimer, toRfc3339 } from '../../lib/util/time.ts'
import type { NoteFolder } from './note-folder.ts'
import type { AuditLog } from '../resources/audit-log.ts'
import type { SchemeProducer } from '../resources/scheme-producer.ts'
import type { SceneNow } from '../resources/scene/producer.ts'
import type { Prover } from './prover.ts'
import {
  findNote,
  isOpen,
  nextState,
  type Note,
  type NoteAction,
  type NoteTarget,
  notNow,
  openNotesUri,
  resolveTargets,
  targetsNow,
} from './note.ts'
import { NotesProducer } from './notes-producer.ts'

/** Of one document; closed ones count. */
const maxNotes = 1000
const maxEntries = 100
/** In the application, which shows little of what is over. */
const maxSettledShown = 10
const maxEntriesShown = 10
/** How often the store is looked at while a client follows the notes: other servers write, too. */
const lookMs = 1000

export const noDocument = 'no document is shared'

/** What the person says; the rest is filled in. */
export type NoteInput = Pick<
  Note,
  'text' | 'author' | 'targets' | 'position' | 'pin' | 'view' | 'frame'
>

export interface NoteAct {
  readonly action: NoteAction
  readonly by: string
  /** In the audit; absent: `by`. */
  readonly actor?: string
  readonly text?: string
}

interface NotesParts {
  /** Names the document that is open in the application. */
  readonly document: () => string
  readonly open: (document: string) => NoteFolder
  /** False: the application has left and taken its scene with it. */
  readonly isShared: () => boolean
  readonly prover: Prover
  readonly audit: Pick<AuditLog, 'record'>
  readonly log: Logger
}

/** The notes of the document that is open in the application. */
export class Notes {
  readonly #parts: NotesParts
  readonly #followed = new Set<string>()
  #opened: { readonly document: string; readonly store: NoteFolder } | null = null
  readonly #watchers = new Set<() => void>()
  /** Those that followers were told of: a read in between does not hide what others have written. */
  readonly #seen = new WeakSet<Note>()
  #scene: (() => SceneNow) | null = null
  #told: (uri: string) => void = () => {}
  #stopLooking: (() => void) | null = null
  /** They could not be read: once they can, followers are told. */
  #isUnread = false

  constructor(parts: NotesParts) {
    this.#parts = parts
  }

  producer(scene: () => SceneNow): SchemeProducer {
    this.#scene = scene
    return new NotesProducer(this, scene)
  }

  /** Sets the listener of changes. */
  onChange(told: (uri: string) => void): void {
    this.#told = told
  }

  /** The first subscriber of a URI came, or the last one went. */
  follow(uri: string, isFollowed: boolean): void {
    if (isFollowed) this.#followed.add(uri)
    else this.#followed.delete(uri)
    this.#lookIfWanted()
  }

  /** Is told of every change, also by another process or of the document. Returns the end. */
  watch(told: () => void): () => void {
    this.#watchers.add(told)
    this.#lookIfWanted()
    return () => {
      this.#watchers.delete(told)
      this.#lookIfWanted()
    }
  }

  /** What the application shows its user: notes that wait, and the last that are settled. */
  async shown(maxBytes: number): Promise<{ notes: readonly object[]; pictures: string }> {
    const all = await this.list()
    const settled = new Set(all.filter(note => !isOpen(note)).slice(-maxSettledShown))
    const notes = all
      .filter(note => isOpen(note) || settled.has(note))
      .map(note => ({ ...note, entries: note.entries.slice(-maxEntriesShown) }))
    const { folder } = this.#parts.prover.pictures()
    return { notes: fittingNotes(notes, maxBytes), pictures: folder }
  }

  #lookIfWanted(): void {
    if (this.#followed.size + this.#watchers.size === 0) return this.close()
    if (this.#stopLooking !== null) return
    for (const note of this.#opened?.store.known ?? []) this.#seen.add(note)
    this.#stopLooking = this.#lookAgain()
  }

  close(): void {
    this.#stopLooking?.()
    this.#stopLooking = null
  }

  /** Another document may be open now. */
  documentChanged(): void {
    if (this.#opened === null || this.#opened.document === this.#parts.document()) return
    this.#opened = null
    this.#tell()
  }

  /** By number, with the names that their objects have now. */
  async list(): Promise<readonly Note[]> {
    const notes = await this.#stored()
    const scene = notes.some(({ targets }) => targets.length > 0) ? this.#scene?.() : undefined
    return notes.map(note => withTargets(note, scene))
  }

  async #stored(): Promise<readonly Note[]> {
    try {
      return await this.#store.notes()
    } catch (error) {
      this.#isUnread = true
      throw error
    }
  }

  /** False: the user has ended the sharing, so that no note would be found again. */
  get isShared(): boolean {
    return this.#parts.isShared()
  }

  /** Ids of those that the last `list` could not read. */
  get damaged(): readonly string[] {
    return this.#store.damaged
  }

  /** By id, a unique beginning of it, or number. Throws `resource_not_found`. */
  async find(word: string): Promise<Note> {
    this.#assertShared('resource_not_found')
    return findNote(await this.list(), word, this.damaged)
  }

  /**
   * Throws `note_state` when no document is shared, `limit_reached` when the document has as many
   * notes as it may, and `body_invalid` when a target is the name of several objects. The answer
   * marks targets that are not in the scene.
   */
  async add(given: NoteInput): Promise<Note> {
    const { prover } = this.#parts
    this.#assertShared()
    const resolved = (targets: readonly NoteTarget[]) => {
      const scene = targets.length === 0 ? undefined : this.#scene?.()
      return scene === undefined ? targets : resolveTargets(targets, scene)
    }
    const input = { ...given, targets: resolved(given.targets) }
    const store = this.#store
    const place = prover.place()
    // Else the checkpoint of a note that is refused would take the place of another.
    assertRoom(await store.notes())
    const id = randomBytes(4).toString('hex')
    // Before agents are told, who would change what is to be kept.
    const kept = await prover.keep(place, id, input)
    const note = await store
      .writeOne(notes => {
        assertRoom(notes)
        return {
          id,
          number: (notes.at(-1)?.number ?? 0) + 1,
          state: 'open',
          ...input,
          created_at: toRfc3339(systemClock.now()),
          ...kept,
          // The application was asked for its newest scene meanwhile.
          targets: resolved(kept.targets),
          entries: [],
        }
      })
      .catch(async (error: unknown) => {
        const notes = await store.notes().catch(() => null)
        // Writing may fail after the note was stored.
        if (notes?.every(note => note.id !== id) === true) await prover.discard(place, id)
        throw error
      })
    this.#changed(note, 'add', input.author)
    return withTargets(note, this.#scene?.())
  }

  /**
   * Throws `resource_not_found`, and `note_state` when no document is shared or the note does not
   * take the action now.
   */
  async act(word: string, { action, by, actor = by, text }: NoteAct): Promise<Note> {
    this.#assertShared()
    const at = toRfc3339(systemClock.now())
    const store = this.#store
    const note = await store.writeOne(notes => {
      const before = findNote(notes, word, store.damaged)
      const state = nextState(before.state, action)
      if (state === null) throw notNow(before, action)
      // Agents cannot fill a note up: a person still settles it.
      const most = action === 'answer' ? maxEntries : 2 * maxEntries
      if (before.entries.length >= most) {
        throw new ServiceError('limit_reached', `a note with ${most} entries takes no ${action}`)
      }
      const entry = { action, by, at, ...(text !== undefined && { text }) }
      return { ...before, state, entries: [...before.entries, entry] }
    })
    this.#changed(note, action, actor)
    return action === 'answer' ? this.#prove(store, note) : note
  }

  /** A picture of a note. Throws `resource_not_found`. */
  async picture(word: string, name: string): Promise<Buffer> {
    const { id } = await this.find(word)
    return this.#parts.prover.pictures().read(id, name)
  }

  /** The answer is kept already; this adds what it has changed. */
  async #prove(store: NoteFolder, answered: Note): Promise<Note> {
    const place = answered.entries.length - 1
    const answer = answered.entries.filter(({ action }) => action === 'answer').length
    try {
      const proof = await this.#parts.prover.prove(answered, answer)
      const note = await store.writeOne(notes => {
        const before = findNote(notes, answered.id, store.damaged)
        const entries = before.entries.map((entry, at) =>
          at === place ? { ...entry, proof } : entry,
        )
        return { ...before, entries }
      })
      this.#tell(note)
      return note
    } catch (error) {
      this.#parts.log.warn({ err: error, note: answered.id }, 'an answer could not be proved')
      return answered
    }
  }

  #changed(note: Note, action: NoteAction | 'add', actor: string): void {
    const { id, number } = note
    // Without the text, which `notes://` has for those who may read it.
    this.#parts.audit.record({ action: `note.${action}`, actor, params: { id, number } })
    this.#tell(note)
  }

  #tell(...changed: Note[]): void {
    this.#told(openNotesUri)
    for (const note of changed) {
      this.#seen.add(note)
      this.#told(`notes://${note.id}`)
    }
    for (const told of this.#watchers) told()
  }

  #assertShared(code: ErrorCode = 'note_state'): void {
    if (this.isShared) return
    throw new ServiceError(code, noDocument, { hint: 'connect the application first' })
  }

  get #store(): NoteFolder {
    const document = this.#parts.document()
    if (this.#opened?.document !== document) {
      this.#opened = { document, store: this.#parts.open(document) }
    }
    return this.#opened.store
  }

  #lookAgain(): () => void {
    return systemTimer.after(lookMs, () => {
      const store = this.#store
      this.#stopLooking = this.#lookAgain()
      const isKnown = store.isUnchanged && !this.#isUnread
      const looked = isKnown ? Promise.resolve(store.known) : this.#stored()
      void looked.then(
        notes => {
          const changed = notes.filter(note => !this.#seen.has(note))
          if (changed.length === 0 && !this.#isUnread) return
          this.#isUnread = false
          this.#tell(...changed)
        },
        () => {},
      )
    })
  }
}

/** With the objects as they are now. */
function withTargets(note: Note, scene: SceneNow | undefined): Note {
  return scene === undefined ? note : { ...note, targets: targetsNow(note.targets, scene) }
}

function assertRoom(notes: readonly Note[]): void {
  if (notes.length < maxNotes) return
  throw new ServiceError('limit_reached', `a document has at most ${maxNotes} notes`)
}

/** As many as fit into so many bytes of JSON, in their order: open ones first, and newer ones. */
export function fittingNotes<Shown extends Pick<Note, 'state'>>(
  notes: Shown[],
  maxBytes: number,
): readonly Shown[] {
  let bytes = 1
  const wanted = notes.toReversed().toSorted((a, b) => Number(isOpen(b)) - Number(isOpen(a)))
  const fitting = new Set(
    wanted.filter(note => (bytes += Buffer.byteLength(JSON.stringify(note)) + 1) <= maxBytes),
  )
  return notes.filter(note => fitting.has(note))
}
