import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Unconfirmed } from '../../lib/mcp/unconfirmed.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { parseJson } from '../../lib/util/json.ts'
import type { DocumentFolder } from './document-folder.ts'

/** Of one document. */
const maxCheckpoints = 64
/** Of one document, as they are stored. */
const maxBytes = 256 * 1024 * 1024
const maxFactsBytes = 4096

/** Members have the same names in memory, in the folder and on the wire. */
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

const facts = z.looseObject({
  name: z.string(),
  created_at: z.string(),
  by: z.string(),
  size: z.int(),
  stored_bytes: z.int(),
})

/** The checkpoints of one document, two files each: the scene, then the facts about it. */
export class CheckpointFolder {
  readonly #folder: DocumentFolder

  constructor(folder: DocumentFolder) {
    this.#folder = folder
  }

  /** The oldest first, without those whose facts are damaged. */
  async list(): Promise<readonly Checkpoint[]> {
    const names = (await this.#folder.list()).filter(name => /^[0-9a-f]{32}\.json$/.test(name))
    const texts = names.map(name => this.#folder.read(name, maxFactsBytes).catch(() => null))
    const found = (await Promise.all(texts)).flatMap(bytes => {
      const json = parseJson(String(bytes), 2)
      return json.ok && facts.safeParse(json.value).success ? [json.value as Checkpoint] : []
    })
    return found.toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1))
  }

  /** The packed scene; null: it is not there. */
  read(name: string): Promise<Buffer | null> {
    return this.#folder.read(sceneFile(name), maxBytes)
  }

  /** Throws `name_taken` for a name in use, `limit_reached` when there is no room. */
  async add(checkpoint: Checkpoint, packed: Buffer): Promise<void> {
    const { name } = checkpoint
    const kept = await this.list()
    if (kept.some(each => each.name === name)) throw nameTaken(name)
    for (const each of checkpointsToEvict(kept, packed.length)) await this.remove(each.name)
    await this.#folder.make()
    if (!(await this.#folder.create(sceneFile(name), packed))) throw nameTaken(name)
    await this.#folder.create(factsFile(name), JSON.stringify(checkpoint))
  }

  /** False: no checkpoint has this name. */
  async remove(name: string): Promise<boolean> {
    const isThere = (await this.#folder.list()).includes(sceneFile(name))
    await this.#folder.remove(factsFile(name))
    await this.#folder.remove(sceneFile(name))
    return isThere
  }

  /** Gives another document the checkpoints of this one, as far as there is room for them. */
  async copyTo(other: CheckpointFolder): Promise<void> {
    for (const checkpoint of await this.list()) {
      const packed = await this.read(checkpoint.name)
      if (packed === null) continue
      await other.add(checkpoint, packed).catch((error: unknown) => {
        const isKept = error instanceof ServiceError && error.code === 'name_taken'
        if (!isKept && !(error instanceof ServiceError && error.code === 'limit_reached'))
          throw error
      })
    }
  }
}

/** Two names that a file system would not tell apart have two files. */
function keyOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 32)
}

function sceneFile(name: string): string {
  return `${keyOf(name)}.scene.gz`
}

function factsFile(name: string): string {
  return `${keyOf(name)}.json`
}

function nameTaken(name: string): ServiceError {
  return new ServiceError('name_taken', `there is a checkpoint "${name}" already`, {
    hint: `take another name, or remove it: service-cli checkpoint "${name}" --remove`,
  })
}

/** Which ones go to make room for one of so many bytes. Throws `limit_reached`. */
export function checkpointsToEvict(
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
