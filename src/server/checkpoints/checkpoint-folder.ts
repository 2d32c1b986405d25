import { createHash } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { listPrivateFolder, withFileLock, writePrivateFile } from '../../lib/config/private-file.ts'
import type { Unconfirmed } from '../../lib/mcp/unconfirmed.ts'
import { errnoOf, messageOf, ServiceError } from '../../lib/util/errors.ts'
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
  /** Of the scene's text. */
  readonly size: number
  /** Of the packed scene. */
  readonly stored_bytes: number
  /** Made for a note: it goes first when room is needed. */
  readonly of_note?: boolean
}

/**
 * The checkpoints of one document, two files each: the scene and what is said of it. Several
 * servers may share it.
 */
export class CheckpointFolder {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  /** The oldest first. */
  async list(): Promise<readonly Checkpoint[]> {
    const names = await listPrivateFolder(this.#path)
    const files = names.filter(name => /^[0-9a-f]{32}\.json$/.test(name))
    // A name is not free because its file cannot be read now.
    const texts = files.map(name => readFacts(join(this.#path, name)))
    const found = (await Promise.all(texts)).map(parseCheckpoint).filter(each => each !== null)
    return found.toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1))
  }

  /** The packed scene. Rejects when it is not there or cannot be read. */
  read(name: string): Promise<Buffer> {
    return readFile(this.#scenePath(name))
  }

  /** Throws `name_taken` for a name in use, `limit_reached` when there is no room. */
  add(checkpoint: Checkpoint, packed: Buffer): Promise<void> {
    return withFileLock(`${this.#path}.lock`, async () => {
      for (const each of makeRoom(await this.list(), checkpoint)) await this.#removeFiles(each.name)
      // The facts come last: without them a scene does not count.
      await writePrivateFile(this.#scenePath(checkpoint.name), packed)
      await writePrivateFile(this.#factsPath(checkpoint.name), JSON.stringify(checkpoint))
    })
  }

  /** False: no checkpoint has this name. */
  remove(name: string): Promise<boolean> {
    return withFileLock(`${this.#path}.lock`, async () => {
      const isThere = (await this.list()).some(each => each.name === name)
      if (isThere) await this.#removeFiles(name)
      return isThere
    })
  }

  async #removeFiles(name: string): Promise<void> {
    await rm(this.#factsPath(name), { force: true })
    await rm(this.#scenePath(name), { force: true })
  }

  #factsPath(name: string): string {
    return join(this.#path, `${keyOf(name)}.json`)
  }

  #scenePath(name: string): string {
    return join(this.#path, `${keyOf(name)}.scene.gz`)
  }
}

/** The text of the file; empty when it was removed meanwhile. */
async function readFacts(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return ''
    const message = `the checkpoint in ${path} cannot be read: ${messageOf(error)}`
    throw new ServiceError('storage_failed', message, { cause: error })
  }
}

/** Two names that a file system would not tell apart have two files. */
function keyOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 32)
}

/** Which ones go to make room for this one. Throws as `add` does. */
function makeRoom(
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
function parseCheckpoint(text: string): Checkpoint | null {
  const parsed = parseJson(text.slice(0, maxFactsChars), 2)
  return parsed.ok && isCheckpoint(parsed.value) ? parsed.value : null
}

function isCheckpoint(value: unknown): value is Checkpoint {
  if (!isJsonObject(value)) return false
  const { name, created_at, size, stored_bytes } = value
  return (
    typeof name === 'string' &&
    typeof created_at === 'string' &&
    [size, stored_bytes].every(each => Number.isSafeInteger(each))
  )
}
