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

/** For messages. */
interface Place {
  readonly document: string
  /** Name of the target. */
  readonly name: string
}

interface CopyOptions {
  readonly from: End
  readonly to: End
  /** Called for each note and checkpoint that cannot be copied, with its name for people. */
  readonly damaged: (what: string) => void
}

interface CopiedDocuments {
  /** Notes of the source that are at the target, compared. */
  notes: number
  /** Likewise. */
  checkpoints: number
  /** Bytes of both, as they are stored. */
  bytes: number
  /** Notes and checkpoints that this run copied. */
  copied: number
  damaged: number
  /** Documents without a path that belong to other machines or accounts. */
  readonly others: number
}

const unpack = promisify(gunzip)

/**
 * Checks that everything can be copied. Throws `entry_exists` when the target has a note or a
 * checkpoint with other content, and `storage_full` when a document would exceed its bounds.
 */
export async function checkDocuments({ from, to }: Omit<CopyOptions, 'damaged'>): Promise<void> {
  const { documents } = await from.stores.list()
  for (const document of documents) {
    const place = { document, name: to.name }
    const notes = await from.stores.notes(document).notes()
    const kept = await to.stores.notes(document).notes()
    const { size } = new Set([...kept, ...notesToWrite(notes, kept, place)].map(({ id }) => id))
    if (size > maxNotes) throw tooMany(`${size} notes are more than ${maxNotes}`, place)
    const checkpoints = await from.stores.checkpoints(document).list()
    withoutRoom(checkpoints, await to.stores.checkpoints(document).list(), place)
  }
}

/**
 * Copies the notes and checkpoints of every document as they are, then reads every copy and
 * compares it. What is at the target is not copied again. Throws as `checkDocuments`.
 */
export async function copyDocuments(options: CopyOptions): Promise<CopiedDocuments> {
  const { documents, others } = await options.from.stores.list()
  const result = { notes: 0, checkpoints: 0, bytes: 0, copied: 0, damaged: 0, others }
  for (const document of documents) {
    await copyNotes(options, document, result)
    await copyCheckpoints(options, document, result)
  }
  return result
}

async function copyNotes(
  { from, to, damaged }: CopyOptions,
  document: string,
  result: CopiedDocuments,
): Promise<void> {
  const place = { document, name: to.name }
  const source = from.stores.notes(document)
  const target = to.stores.notes(document)
  const notes = await source.notes()
  for (const id of source.damaged) damaged(`note ${id} of document ${document}`)
  result.damaged += source.damaged.length
  if (notesToWrite(notes, await target.notes(), place).length > 0) {
    const written = await target.write(kept => notesToWrite(notes, kept, place))
    result.copied += written.length
  }
  // A new store: `target` has what it wrote in memory.
  const [lost] = notesToWrite(notes, await to.stores.notes(document).notes(), place)
  if (lost !== undefined) throw noteDiffers(lost, place)
  result.notes += notes.length
  for (const note of notes) result.bytes += Buffer.byteLength(JSON.stringify(note))
}

/** Returns the notes that `kept` lacks, or has as an older version. */
function notesToWrite(
  notes: readonly Note[],
  kept: readonly Note[],
  place: Place,
): readonly Note[] {
  const keptById = new Map(kept.map(note => [note.id, note]))
  return notes.filter(note => {
    const there = keptById.get(note.id)
    return there === undefined || newerOf(note, there, place) === note
  })
}

/** Returns the version that continues the other, `there` when both are equal. Throws for a conflict. */
function newerOf(note: Note, there: Note, place: Place): Note {
  const [newer, older] = steps(note) > steps(there) ? [note, there] : [there, note]
  const entries = newer.entries
    .slice(0, older.entries.length)
    .map((entry, at) => (older.entries[at]?.proof === undefined ? withoutProof(entry) : entry))
  const then = { ...newer, state: older.state, entries }
  if (JSON.stringify(then) === JSON.stringify(older)) return newer
  throw noteDiffers(note, place)
}

/** The number of changes: entries are only added, and a proof comes after its entry. */
function steps({ entries }: Note): number {
  return entries.length + entries.filter(({ proof }) => proof !== undefined).length
}

function withoutProof({ proof: _, ...entry }: NoteEntry): NoteEntry {
  return entry
}

async function copyCheckpoints(
  { from, to, damaged }: CopyOptions,
  document: string,
  result: CopiedDocuments,
): Promise<void> {
  const place = { document, name: to.name }
  const source = from.stores.checkpoints(document)
  const target = to.stores.checkpoints(document)
  const [checkpoints, kept] = [await source.list(), await target.list()]
  const gone = withoutRoom(checkpoints, kept, place)
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
 * Returns the names of the checkpoints for which the document has no room beside newer ones. As when
 * a server makes a checkpoint, the oldest of those made for notes go.
 */
function withoutRoom(
  checkpoints: readonly Checkpoint[],
  kept: readonly Checkpoint[],
  place: Place,
): ReadonlySet<string> {
  const keptByName = new Map(kept.map(each => [each.name, JSON.stringify(each)]))
  const added = checkpoints.filter(each => !keptByName.has(each.name))
  const other = checkpoints.find(each => {
    const there = keptByName.get(each.name)
    return there !== undefined && there !== JSON.stringify(each)
  })
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

/** Returns the packed scene, null when it is damaged. */
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
  return new ServiceError('entry_exists', `note ${id} differs at ${name}`, {
    hint: `remove one of the two: the file ${file}, or its row in the table document_notes`,
  })
}

function checkpointDiffers(checkpoint: string, { document, name }: Place): ServiceError {
  const message = `checkpoint "${checkpoint}" of document ${document} differs at ${name}`
  return new ServiceError('entry_exists', message, {
    hint: `remove one of the two: service-cli checkpoint "${checkpoint}" --remove`,
  })
}
