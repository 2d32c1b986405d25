import { LRUCache } from 'lru-cache'
import pLimit from 'p-limit'
import { base64Length, encodeBase64 } from '../resources/base64.ts'
import { ResourceNotFound } from '../resources/errors.ts'
import type { EncodedBlob, StreamedBlob } from '../resources/producer.ts'
import type { ArtefactRef, ArtefactStore, OpenArtefact } from './store.ts'

/** A body this small is kept at its first read: streaming it would cost more. */
const smallBytes = 1024 * 1024
/** A larger one is never kept. */
const maxKeptBytes = 8 * 1024 * 1024
/** Encoded bodies that are kept together. */
const cacheBytes = 64 * 1024 * 1024
/** What a kept body costs beside its bytes: its key, content item and envelope, as measured. */
const keptOverheadBytes = 5 * 1024
/** Bodies read into memory at the same time. */
const maxLoads = 4

/**
 * The bodies of artefacts, in the forms in which a resource is sent. What is small, or was asked for
 * lately, is kept encoded. Anything else is streamed: filling the cache with a body that is read once
 * costs more than sending it.
 */
export class Blobs {
  readonly #store: ArtefactStore
  readonly #queue = pLimit(maxLoads)
  readonly #kept = new LRUCache<string, EncodedBlob, ArtefactRef>({
    maxSize: cacheBytes,
    sizeCalculation: ({ base64 }) => base64.byteLength + keptOverheadBytes,
    fetchMethod: (hex, _, { context }) => this.#queue(() => this.#encoded(hex, context)),
  })
  /** Streamed lately; together no more than the cache could hold, so keeping them pays. */
  readonly #lately = new LRUCache<string, true>({ maxSize: cacheBytes })

  constructor(store: ArtefactStore) {
    this.#store = store
  }

  /** Verified before, or while it is streamed. Throws `artefact_corrupt`. */
  async load(hex: string, ref: ArtefactRef): Promise<EncodedBlob | StreamedBlob> {
    const size = ref.size_bytes
    const kept = this.#kept.get(hex)
    if (kept !== undefined) return kept
    if (size <= smallBytes || this.#lately.has(hex)) {
      return this.#kept.forceFetch(hex, { context: ref })
    }
    if (size <= maxKeptBytes) this.#lately.set(hex, true, { size: base64Length(size) })
    return { size, open: () => this.#stream(hex, ref) }
  }

  /** Up to `length` bytes from `start` on, unverified. */
  bytes(hex: string, ref: ArtefactRef, start: number, length: number): Promise<Buffer> {
    return this.#queue(async () => {
      await using artefact = await this.#open(hex, ref)
      const end = Math.min(start + length, ref.size_bytes)
      return await collect(artefact.range(start, end), Math.max(0, end - start))
    })
  }

  async #encoded(hex: string, ref: ArtefactRef): Promise<EncodedBlob> {
    await using artefact = await this.#open(hex, ref)
    const bytes = await collect(artefact.verified(), ref.size_bytes)
    return Object.freeze({ base64: encodeBase64(bytes) })
  }

  async *#stream(hex: string, ref: ArtefactRef): AsyncGenerator<Uint8Array> {
    await using artefact = await this.#open(hex, ref)
    yield* artefact.verified()
  }

  async #open(hex: string, { uri }: ArtefactRef): Promise<OpenArtefact> {
    const artefact = await this.#store.open(hex)
    if (artefact === null) throw new ResourceNotFound(uri)
    return artefact
  }
}

async function collect(pieces: AsyncIterable<Uint8Array>, size: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(size)
  let at = 0
  for await (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.byteLength
  }
  return bytes.subarray(0, at)
}
