import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { basename, extname } from 'node:path'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { gunzip, gzip } from 'node:zlib'
import pLimit from 'p-limit'
import { z } from 'zod'
import { messageOf, ServiceError } from '../../lib/util/errors.ts'
import { parseExact } from '../../lib/util/exact-json.ts'
import { parseJson } from '../../lib/util/json.ts'
import { cleanText } from '../../lib/util/text.ts'
import { systemClock, toRfc3339 } from '../../lib/util/time.ts'
import { type ComparedScenes, compareScenes, type SceneComparison } from './compare-scenes.ts'
import type { DocumentFolder } from './document-folder.ts'
import { checkpointsUri } from '../resources/scene/listing.ts'
import type { FreshScene } from '../resources/scene/state.ts'

/** Of one document. */
const maxCheckpoints = 64
/** Of one document, as they are stored. */
const maxBytes = 256 * 1024 * 1024
const maxFactsBytes = 4096
/** Texts that are longer together take too long for the main thread: the largest ones seconds. */
const maxInlineChars = 1024 * 1024
const maxCompareMs = 60_000
/** Sources and build differ in its ending. */
const compareScript = new URL(`./compare-thread${extname(import.meta.url)}`, import.meta.url)

/** Members have the same names in memory, in the folder and on the wire. */
const facts = z.object({
  name: z.string(),
  /** RFC 3339 */
  created_at: z.string(),
  by: z.string(),
  /** Of the packed scene. */
  stored_bytes: z.int(),
  /** Made for a note: it goes first when room is needed. */
  of_note: z.boolean().optional(),
  /** As in `Unconfirmed`. */
  as_of: z.string().optional(),
  connected: z.literal(false).optional(),
})

type Checkpoint = z.infer<typeof facts>

export interface CheckpointInput {
  readonly name: string
  readonly by: string
  readonly ofNote?: boolean
}

interface CheckpointsParts {
  /** The one that is open in the application. */
  readonly document: () => DocumentFolder
  readonly scene: () => Promise<FreshScene>
}

const [pack, unpack] = [promisify(gzip), promisify(gunzip)]

const sceneFile = 'scene.gz'
const factsFile = 'facts.json'

/** Named scenes of documents, by default of the open one: a folder each. */
export class Checkpoints {
  readonly #parts: CheckpointsParts
  readonly #oneThread = pLimit(1)
  readonly #closing = new AbortController()
  #listener: () => void = () => {}

  constructor(parts: CheckpointsParts) {
    this.#parts = parts
  }

  /** What changed between any two scenes. Large ones are compared in a thread. */
  async compare(scenes: ComparedScenes): Promise<SceneComparison> {
    const { base, current } = scenes
    const chars = (base?.length ?? 0) + (current?.length ?? 0)
    if (chars <= maxInlineChars || base === current) return compareScenes(scenes)
    return this.#oneThread(() => compareInThread(scenes, this.#closing.signal))
  }

  close(): void {
    this.#closing.abort(new Error('the server stops'))
  }

  /** Sets the listener of changes. */
  onChange(listener: () => void): void {
    this.#listener = listener
  }

  /** The oldest first, without those whose facts are damaged. */
  async list(document = this.#parts.document()): Promise<readonly Checkpoint[]> {
    const folder = document.folder('checkpoints')
    const names = (await folder.list()).filter(name => /^[0-9a-f]{32}$/.test(name))
    const read = names.map(async name => {
      const text = await folder
        .folder(name)
        .read(factsFile, maxFactsBytes)
        .catch(() => null)
      const json = parseJson(String(text), 2)
      return (json.ok && facts.safeParse(json.value).data) || []
    })
    const found = (await Promise.all(read)).flat()
    return found.toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1))
  }

  /** The text of the scene. Throws `resource_not_found`. */
  async find(name: string): Promise<string> {
    const folder = await existing(this.#parts.document(), name)
    try {
      const packed = await folder.read(sceneFile, maxBytes)
      return String(await unpack(packed ?? ''))
    } catch (error) {
      const message = `checkpoint "${name}" cannot be read: ${messageOf(error)}`
      throw new ServiceError('resource_failed', message, { hint: 'remove it and make it again' })
    }
  }

  /** Throws `name_taken` for a name in use, `limit_reached` when there is no room. */
  async add(
    { name, by, ofNote = false }: CheckpointInput,
    document = this.#parts.document(),
  ): Promise<Checkpoint> {
    const { text, unconfirmed } = await this.#parts.scene()
    if (text === null) {
      throw new ServiceError('resource_not_found', 'no scene is shared now', {
        hint: 'connect the application, then make the checkpoint again',
      })
    }
    const packed = await pack(text)
    const created_at = toRfc3339(systemClock.now())
    const made = { name, created_at, by, stored_bytes: packed.length }
    const checkpoint = { ...made, ...unconfirmed, ...(ofNote && { of_note: true }) }
    await this.#keep(document, checkpoint, packed)
    this.#listener()
    return checkpoint
  }

  /** Throws `resource_not_found`. */
  async remove(name: string, document = this.#parts.document()): Promise<void> {
    await (await existing(document, name)).remove()
    this.#listener()
  }

  /** Gives one document the checkpoints of another one, as far as there is room for them. */
  async copy(from: DocumentFolder, to: DocumentFolder): Promise<void> {
    for (const checkpoint of await this.list(from)) {
      const packed = await folderOf(from, checkpoint.name).read(sceneFile, maxBytes)
      await this.#keep(to, checkpoint, packed ?? Buffer.alloc(0)).catch((error: unknown) => {
        const { code } = error as ServiceError
        if (code !== 'name_taken' && code !== 'limit_reached') throw error
      })
    }
  }

  async #keep(document: DocumentFolder, checkpoint: Checkpoint, packed: Buffer): Promise<void> {
    const { name } = checkpoint
    const folder = folderOf(document, name)
    const kept = await this.list(document)
    const isTaken = kept.some(each => each.name === name)
    for (const each of isTaken ? [] : checkpointsToEvict(kept, packed.length)) {
      await folderOf(document, each.name).remove()
    }
    const files = new Map([[sceneFile, packed]])
    files.set(factsFile, Buffer.from(JSON.stringify(checkpoint)))
    if (isTaken || !(await folder.createWith(files))) {
      throw new ServiceError('name_taken', `there is a checkpoint "${name}" already`, {
        hint: `take another name, or remove it: service-cli checkpoint "${name}" --remove`,
      })
    }
  }
}

async function compareInThread(scenes: ComparedScenes, closing: AbortSignal) {
  closing.throwIfAborted()
  const signal = AbortSignal.any([closing, AbortSignal.timeout(maxCompareMs)])
  // Nothing of the environment is of use there, and some of it is secret.
  const worker = new Worker(compareScript, { workerData: scenes, env: {} })
  try {
    const [answer] = await once(worker, 'message', { signal })
    return parseExact(answer) as SceneComparison
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    await worker.terminate()
  }
}

/** Of one checkpoint: two names that a file system would not tell apart have other folders. */
function folderOf(document: DocumentFolder, name: string): DocumentFolder {
  const key = createHash('sha256').update(name).digest('hex').slice(0, 32)
  return document.folder('checkpoints').folder(key)
}

async function existing(document: DocumentFolder, name: string): Promise<DocumentFolder> {
  const folder = folderOf(document, name)
  const all = await document.folder('checkpoints').list()
  if (all.includes(basename(folder.path))) return folder
  const message = `this document has no checkpoint "${cleanText(name, 80)}"`
  throw new ServiceError('resource_not_found', `${message}; ${checkpointsUri} lists those it has`)
}

/** Which ones go to make room for one of so many bytes. Throws `limit_reached`. */
export function checkpointsToEvict(
  kept: readonly Pick<Checkpoint, 'name' | 'stored_bytes' | 'of_note'>[],
  newBytes: number,
): readonly { readonly name: string }[] {
  const left = new Set(kept)
  const isFull = () =>
    left.size >= maxCheckpoints ||
    [...left].reduce((bytes, each) => bytes + each.stored_bytes, newBytes) > maxBytes
  for (const each of kept) if (each.of_note === true && isFull()) left.delete(each)
  if (!isFull()) return kept.filter(each => !left.has(each))
  const most = `${maxCheckpoints} checkpoints and ${maxBytes / 1024 / 1024} MiB`
  throw new ServiceError('limit_reached', `a document has at most ${most}`, {
    hint: 'remove one: service-cli checkpoint NAME --remove',
  })
}
