import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { ServiceError } from '../../lib/util/errors.ts'
import {
  type Checkpoint,
  type CheckpointStore,
  inOrder,
  leaving,
} from '../checkpoints/checkpoint-store.ts'
import type { Note, NoteEntry } from '../notes/note.ts'
import { maxNotes } from '../notes/note-store.ts'
import type { DocumentStores } from './document-stores.ts'

interface End {
  readonly stores: DocumentStores
  /** For messages. */
  readonly name: string
}

/** A document at the target, for messages. */
interface Place {
  readonly document: string
  readonly name: string
}

interface CopyDocuments {
  readonly from: End
  readonly to: End
  /** A note or a checkpoint cannot be copied. */
  readonly damaged: (what: string) => void
}

export interface CopiedDocuments {
  /** At the source, and compared at the target. */
  notes: number
  checkpoints: number
  /** As they are stored. */
  bytes: number
  /** By this run. */
  copied: number
  damaged: number
  /** Documents without a path that belong to other machines and accounts. */
  readonly others: number
}

const unpack = promisify(gunzip)

/**
 * Throws `entry_exists` for a note or a checkpoint that the target has with other content, and
 * `storage_full` when a document would have more than it may. Changes nothing.
 */
export async function checkDocuments({ from, to }: CopyDocuments): Promise<void> {
  const { documents } = await from.stores.list()
  for (const document of documents) {
    const place = { document, name: to.name }
    const notes = await from.stores.notes(document).notes()
    const kept = await to.stores.notes(document).notes()
    const { size } = new Set([...kept, ...missing(notes, kept, place)].map(({ id }) => id))
    if (size > maxNotes) throw tooMany(`${size} notes are more than ${maxNotes}`, place)
    const checkpoints = await from.stores.checkpoints(document).list()
    superseded(checkpoints, await to.stores.checkpoints(document).list(), place)
  }
}

/**
 * Copies the notes and checkpoints of every document as they are, then reads every copy and
 * compares it. What is at the target is not copied again. Throws as `checkDocuments`.
 */
export async function copyDocuments(options: CopyDocuments): Promise<CopiedDocuments> {
  const { documents, others } = await options.from.stores.list()
  const result = { notes: 0, checkpoints: 0, bytes: 0, copied: 0, damaged: 0, others }
  for (const document of documents) {
    await copyNotes(options, document, result)
    await copyCheckpoints(options, document, result)
  }
  return result
}

async function copyNotes(
  { from, to, damaged }: CopyDocuments,
  document: string,
  result: CopiedDocuments,
): Promise<void> {
  const place = { document, name: to.name }
  const source = from.stores.notes(document)
  const target = to.stores.notes(document)
  const notes = await source.notes()
  for (const id of source.damaged) damaged(`note ${id} of document ${document}`)
  result.damaged += source.damaged.length
  if (missing(notes, await target.notes(), place).length > 0) {
    const written = await target.writeAll(kept => missing(notes, kept, place))
    result.copied += written.length
  }
  // Not from the memory of the store that has written them.
  const [lost] = missing(notes, await to.stores.notes(document).notes(), place)
  if (lost !== undefined) throw noteDiffers(lost, place)
  result.notes += notes.length
  for (const note of notes) result.bytes += Buffer.byteLength(JSON.stringify(note))
}

/** The notes without those that `kept` has: the same, or one that has gone on since. */
function missing(notes: readonly Note[], kept: readonly Note[], place: Place): readonly Note[] {
  const known = new Map(kept.map(note => [note.id, note]))
  return notes.filter(note => {
    const there = known.get(note.id)
    return there === undefined || later(note, there, place) === note
  })
}

/** The one that has gone on since both were the same; `there` when they are. */
function later(note: Note, there: Note, place: Place): Note {
  const [newer, older] = steps(note) > steps(there) ? [note, there] : [there, note]
  const entries = newer.entries
    .slice(0, older.entries.length)
    .map((entry, at) => (older.entries[at]?.proof === undefined ? withoutProof(entry) : entry))
  const then = { ...newer, state: older.state, entries }
  if (JSON.stringify(then) === JSON.stringify(older)) return newer
  throw noteDiffers(note, place)
}

/** A proof comes after its answer. */
function steps({ entries }: Note): number {
  return entries.length + entries.filter(({ proof }) => proof !== undefined).length
}

function withoutProof({ proof: _, ...entry }: NoteEntry): NoteEntry {
  return entry
}

async function copyCheckpoints(
  { from, to, damaged }: CopyDocuments,
  document: string,
  result: CopiedDocuments,
): Promise<void> {
  const place = { document, name: to.name }
  const source = from.stores.checkpoints(document)
  const target = to.stores.checkpoints(document)
  const [checkpoints, kept] = [await source.list(), await target.list()]
  const gone = superseded(checkpoints, kept, place)
  for (const checkpoint of checkpoints) {
    const { name } = checkpoint
    if (gone.has(name)) continue
    const scene = await readScene(source, checkpoint)
    if (scene === null) {
      damaged(`checkpoint "${name}" of document ${document}`)
      result.damaged++
      continue
    }
    if (!kept.some(each => each.name === name)) {
      await target.add(checkpoint, scene)
      result.copied++
    }
    const copy = await readScene(target, checkpoint)
    if (copy === null || !copy.equals(scene)) {
      throw checkpointDiffers(name, place)
    }
    result.checkpoints++
    result.bytes += scene.length
  }
}

/**
 * Names of those for which the document has no room beside newer ones: the oldest of notes, as when
 * a server makes one more.
 */
function superseded(
  checkpoints: readonly Checkpoint[],
  kept: readonly Checkpoint[],
  place: Place,
): ReadonlySet<string> {
  const known = new Map(kept.map(each => [each.name, JSON.stringify(each)]))
  const added = checkpoints.filter(each => !known.has(each.name))
  const other = checkpoints.find(
    each => known.has(each.name) && known.get(each.name) !== JSON.stringify(each),
  )
  if (other !== undefined) throw checkpointDiffers(other.name, place)
  const all = inOrder([...kept, ...added])
  const newest = all.at(-1)
  if (newest === undefined) return new Set()
  try {
    return new Set(leaving(all.slice(0, -1), newest.stored_bytes).map(each => each.name))
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    throw tooMany(error.message, place, error.hint)
  }
}

/** Null: it is damaged. */
async function readScene(store: CheckpointStore, checkpoint: Checkpoint): Promise<Buffer | null> {
  try {
    const packed = await store.read(checkpoint.name)
    const { length } = await unpack(packed)
    return length === checkpoint.size && packed.length === checkpoint.stored_bytes ? packed : null
  } catch (error) {
    if (error instanceof ServiceError) throw error
    return null
  }
}

function tooMany(what: string, { document, name }: Place, hint?: string): ServiceError {
  return new ServiceError('storage_full', `document ${document} at ${name}: ${what}`, { hint })
}

function noteDiffers({ id }: Note, { document, name }: Place): ServiceError {
  const file = `${document}/notes/${id}.json`
  return new ServiceError('entry_exists', `note ${id} is another one at ${name}`, {
    hint: `remove one of both: the file ${file}, or its row in the table document_notes`,
  })
}

function checkpointDiffers(checkpoint: string, { document, name }: Place): ServiceError {
  const message = `checkpoint "${checkpoint}" of document ${document} is another one at ${name}`
  return new ServiceError('entry_exists', message, {
    hint: `remove one of both: service-cli checkpoint "${checkpoint}" --remove`,
  })
}
