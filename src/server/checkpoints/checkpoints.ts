import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { takeFileLock } from '../../lib/config/file-lock.ts'
import { errnoOf, messageOf, ServiceError } from '../../lib/util/errors.ts'
import { isJsonObject, parseJson } from '../../lib/util/json.ts'
import { type MemberFailure, MemberReader } from '../../lib/util/member-reader.ts'
import { replaceFile } from '../../lib/util/replace-file.ts'
import type { Result } from '../../lib/util/result.ts'
import { cleanText } from '../../lib/util/text.ts'
import { type Clock, toRfc3339 } from '../../lib/util/time.ts'
import type { ComparedScenes, SceneComparison } from './compare-scenes.ts'
import type { SceneComparer } from './scene-comparer.ts'
import type { CheckpointSource, NamedRevision } from '../resources/checkpoint-source.ts'
import type { SceneRevision } from '../resources/scene-revision.ts'

/** Of one document. */
const maxCheckpoints = 64
/** Of one document, as they are on disk. */
const maxBytes = 256 * 1024 * 1024
const maxFactsBytes = 4096
const lockWaitMs = 10_000

/** Members have the same names in memory, in the file and on the wire. */
interface Checkpoint {
  readonly name: string
  /** RFC 3339 */
  readonly created_at: string
  readonly by: string
  /** Of the run in which it was made; another run counts anew. */
  readonly revision: number
  /** Of the scene's text. */
  readonly size: number
  /** Of its file. */
  readonly stored_bytes: number
  /** Made for a note: it goes first when room is needed. */
  readonly of_note?: boolean
}

export interface CheckpointInput {
  readonly name: string
  readonly by: string
  readonly ofNote?: boolean
}

interface CheckpointsParts {
  /** Of the document that is open in the application. */
  readonly folder: () => string
  /** The newest that the application has. */
  readonly scene: () => Promise<SceneRevision>
  readonly comparer: Pick<SceneComparer, 'compare'>
  readonly clock: Clock
}

const [pack, unpack] = [promisify(gzip), promisify(gunzip)]

/** Named scenes of the open document, on disk: two files each, the scene and what is said of it. */
export class Checkpoints implements CheckpointSource {
  readonly #parts: CheckpointsParts
  #told: () => void = () => {}

  constructor(parts: CheckpointsParts) {
    this.#parts = parts
  }

  async changes(base: SceneRevision, until: SceneRevision, maxChanges: number) {
    return this.compare(base, until, { maxChanges, targets: [] })
  }

  /** The same, with what belongs to the targets, which are ids of objects. */
  compare(
    base: Pick<SceneRevision, 'text'>,
    until: Pick<SceneRevision, 'text'>,
    options: Pick<ComparedScenes, 'maxChanges' | 'targets'>,
  ): Promise<SceneComparison> {
    return this.#parts.comparer.compare({ base: base.text, current: until.text, ...options })
  }

  onChange(told: () => void): void {
    this.#told = told
  }

  /** The oldest first. */
  list(): Promise<readonly Checkpoint[]> {
    return listIn(this.#folder)
  }

  /** Throws `resource_not_found`, which names those that there are. */
  async find(name: string): Promise<NamedRevision> {
    const folder = this.#folder
    const found = (await listIn(folder)).find(each => each.name === name)
    if (found === undefined) throw await notFound(folder, name)
    const text = await readFile(scenePath(folder, name))
      .then(file => unpack(file))
      .catch((error: unknown) => {
        const message = `checkpoint "${name}" cannot be read: ${messageOf(error)}`
        throw new ServiceError('resource_failed', message, { hint: 'remove it and make it again' })
      })
    const { revision, size: bytes, created_at } = found
    return {
      checkpoint: name,
      revision,
      bytes,
      text: text.toString(),
      hasScene: true,
      setAtMs: Date.parse(created_at),
    }
  }

  /** Throws `name_taken` for a name in use, `limit_reached` when there is no room. */
  async add({ name, by, ofNote = false }: CheckpointInput): Promise<Checkpoint> {
    const scene = await this.#parts.scene()
    const { text, revision, bytes: size } = scene
    if (text === null) {
      throw new ServiceError('resource_not_found', 'the application has sent no scene yet', {
        hint: 'connect the application, then make the checkpoint again',
      })
    }
    const folder = this.#folder
    const packed = await pack(text)
    const created_at = toRfc3339(this.#parts.clock.now())
    const facts = { name, created_at, by, revision, size, stored_bytes: packed.length }
    const checkpoint = { ...facts, ...(ofNote && { of_note: true }) }
    await locked(folder, async () => {
      const kept = await listIn(folder)
      if (kept.some(each => each.name === name)) {
        throw new ServiceError('name_taken', `there is a checkpoint "${name}" already`, {
          hint: `take another name, or remove it: service-cli checkpoint "${name}" --remove`,
        })
      }
      for (const each of leaving(kept, packed.length)) await removeFiles(folder, each.name)
      // The facts come last: without them a scene does not count.
      await replaceFile(scenePath(folder, name), packed)
      await replaceFile(factsPath(folder, name), JSON.stringify(checkpoint))
    })
    this.#told()
    return checkpoint
  }

  async remove(name: string): Promise<void> {
    const folder = this.#folder
    await locked(folder, async () => {
      const isThere = (await listIn(folder)).some(each => each.name === name)
      if (!isThere) throw await notFound(folder, name)
      await removeFiles(folder, name)
    })
    this.#told()
  }

  get #folder(): string {
    return join(this.#parts.folder(), 'checkpoints')
  }
}

/** A name has a letter, so that it is never taken for a revision. */
export function isCheckpointName(name: string): boolean {
  return /^(?=.*\p{L})[\p{L}\p{N}._-][\p{L}\p{N} ._-]{0,63}$/u.test(name) && !name.endsWith(' ')
}

/** `{"name", "by"?}` */
export function checkpointInput(body: unknown): Result<CheckpointInput, MemberFailure> {
  const reader = new MemberReader(body, '')
  const name = reader.required('name', reader.text('name')?.trim(), '')
  if (!isCheckpointName(name)) {
    reader.refuse(
      'name',
      'must have a letter, and at most 64 letters, digits, spaces, ".", "_", "-"',
    )
  } else if (/^note-[0-9a-f]{8}$/i.test(name)) {
    reader.refuse('name', 'is a name for the checkpoint of a note: take another one')
  }
  return reader.finish<CheckpointInput>({ name, by: reader.name('by', 255) ?? 'unknown' })
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

async function listIn(folder: string): Promise<readonly Checkpoint[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (errnoOf(error) === 'ENOENT') return []
    throw storageFailed('the checkpoints cannot be read', error)
  })
  const files = names.filter(name => /^[0-9a-f]{32}\.json$/.test(name))
  const found = await Promise.all(files.map(name => readFacts(join(folder, name))))
  return found
    .filter(each => each !== null)
    .toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1))
}

/** Null: it was removed meanwhile, or is damaged. */
async function readFacts(path: string): Promise<Checkpoint | null> {
  const text = await readFile(path, 'utf8').catch(() => '')
  const parsed = parseJson(text.slice(0, maxFactsBytes), 2)
  return parsed.ok && isCheckpoint(parsed.value) ? parsed.value : null
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

async function removeFiles(folder: string, name: string): Promise<void> {
  await rm(factsPath(folder, name), { force: true })
  await rm(scenePath(folder, name), { force: true })
}

function factsPath(folder: string, name: string): string {
  return join(folder, `${keyOf(name)}.json`)
}

function scenePath(folder: string, name: string): string {
  return join(folder, `${keyOf(name)}.scene.gz`)
}

/** Two names that a file system would not tell apart have two files. */
function keyOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 32)
}

async function locked(folder: string, work: () => Promise<void>): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const lock = await takeFileLock(`${folder}.lock`, { waitMs: lockWaitMs })
    if (!lock.ok)
      throw new ServiceError('storage_failed', 'the checkpoints are locked for too long')
    try {
      await work()
    } finally {
      lock.value()
    }
  } catch (error) {
    if (error instanceof ServiceError) throw error
    throw storageFailed('the checkpoint cannot be kept', error)
  }
}

async function notFound(folder: string, name: string): Promise<ServiceError> {
  const names = (await listIn(folder)).map(each => each.name).slice(-10)
  const known = names.length === 0 ? 'there is none' : `there are ${names.join(', ')}`
  return new ServiceError(
    'resource_not_found',
    `this document has no checkpoint "${cleanText(name, 80)}"; ${known}`,
  )
}

function storageFailed(what: string, error: unknown): ServiceError {
  return new ServiceError('storage_failed', `${what}: ${messageOf(error)}`)
}
