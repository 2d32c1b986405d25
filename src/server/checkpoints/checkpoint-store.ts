import type { Unconfirmed } from '../../lib/mcp/unconfirmed.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { isJsonObject, parseJson } from '../../lib/util/json.ts'

/** Of one document. */
const maxCheckpoints = 64
/** Of one document, as they are stored. */
const maxBytes = 256 * 1024 * 1024
const maxFactsChars = 4096

/** Members have the same names in memory, in the store and on the wire. */
export interface Checkpoint extends Unconfirmed {
  readonly name: string
  /** RFC 3339 */
  readonly created_at: string
  readonly by: string
  /** Of the run in which it was made; another run counts anew. */
  readonly revision: number
  /** Of the scene's text. */
  readonly size: number
  /** Of the packed scene. */
  readonly stored_bytes: number
  /** Made for a note: it goes first when room is needed. */
  readonly of_note?: boolean
}

/** The checkpoints of one document. Several servers may share it. */
export interface CheckpointStore {
  /** The oldest first. */
  list(): Promise<readonly Checkpoint[]>
  /** The scene as it was added. Rejects when it is not there or cannot be read. */
  read(name: string): Promise<Buffer>
  /** Throws `name_taken` for a name in use, `limit_reached` when there is no room. */
  add(checkpoint: Checkpoint, packed: Buffer): Promise<void>
  /** False: no checkpoint has this name. */
  remove(name: string): Promise<boolean>
}

/** Which ones go to make room for this one. Throws as `add` does. */
export function makeRoom(
  kept: readonly Checkpoint[],
  { name, stored_bytes }: Checkpoint,
): readonly { readonly name: string }[] {
  if (!kept.some(each => each.name === name)) return leaving(kept, stored_bytes)
  throw new ServiceError('name_taken', `there is a checkpoint "${name}" already`, {
    hint: `take another name, or remove it: service-cli checkpoint "${name}" --remove`,
  })
}

/** Which ones go to make room for one of so many bytes. Throws `limit_reached`. */
export function leaving(
  kept: readonly Pick<Checkpoint, 'name' | 'stored_bytes' | 'of_note'>[],
  newBytes: number,
): readonly { readonly name: string }[] {
  let [count, bytes] = [kept.length + 1, newBytes]
  for (const { stored_bytes } of kept) bytes += stored_bytes
  const gone = []
  for (const each of kept.filter(one => one.of_note === true)) {
    if (count <= maxCheckpoints && bytes <= maxBytes) break
    gone.push(each)
    count--
    bytes -= each.stored_bytes
  }
  if (count <= maxCheckpoints && bytes <= maxBytes) return gone
  const most = `${maxCheckpoints} checkpoints and ${maxBytes / 1024 / 1024} MiB`
  throw new ServiceError('limit_reached', `a document has at most ${most}`, {
    hint: 'remove one: service-cli checkpoint NAME --remove',
  })
}

/** Null: it was removed meanwhile, or is damaged. */
export function parseCheckpoint(text: string): Checkpoint | null {
  const parsed = parseJson(text.slice(0, maxFactsChars), 2)
  return parsed.ok && isCheckpoint(parsed.value) ? parsed.value : null
}

export function inOrder(checkpoints: (Checkpoint | null)[]): readonly Checkpoint[] {
  return checkpoints
    .filter(each => each !== null)
    .toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1))
}

function isCheckpoint(value: unknown): value is Checkpoint {
  if (!isJsonObject(value)) return false
  const { name, created_at, revision, size, stored_bytes } = value
  return (
    typeof name === 'string' &&
    typeof created_at === 'string' &&
    [revision, size, stored_bytes].every(each => Number.isSafeInteger(each))
  )
}
