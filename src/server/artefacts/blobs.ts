import { LRUCache } from 'lru-cache'
import pLimit from 'p-limit'
import { encodeBase64 } from '../resources/base64.ts'
import { ResourceNotFound } from '../resources/errors.ts'
import type { EncodedBlob, StreamedBlob } from '../resources/producer.ts'
import type { ArtefactRef, ArtefactStore } from './store.ts'

/** Bodies up to this size are kept encoded; larger ones are streamed. */
const maxKeptBytes = 8 * 1024 * 1024
/** Encoded bodies that are kept together. */
const cacheBytes = 64 * 1024 * 1024
/** Bodies read into memory at the same time. */
const maxLoads = 4
/** What a kept body costs beside its bytes: its key, content item and envelope, as measured. */
const keptOverheadBytes = 5 * 1024

/** The bodies of artefacts, in the forms in which a resource is sent. */
export class Blobs {
  readonly #store: ArtefactStore
  readonly #inTurn = pLimit(maxLoads)
  readonly #kept = new LRUCache<string, EncodedBlob, ArtefactRef>({
    maxSize: cacheBytes,
    sizeCalculation: ({ base64 }) => base64.byteLength + keptOverheadBytes,
    fetchMethod: (hex, _, { context }) => this.#inTurn(() => this.#encoded(hex, context)),
  })

  constructor(store: ArtefactStore) {
    this.#store = store
  }

  /** Verified before, or when it is streamed before its end. Throws `artefact_corrupt`. */
  async load(hex: string, ref: ArtefactRef): Promise<EncodedBlob | StreamedBlob> {
    if (ref.size_bytes > maxKeptBytes) {
      return { size: ref.size_bytes, open: () => this.#stream(hex, ref) }
    }
    return this.#kept.get(hex) ?? this.#kept.forceFetch(hex, { context: ref })
  }

  /** Up to `length` bytes from `start` on, unverified. */
  async bytes(hex: string, ref: ArtefactRef, start: number, length: number): Promise<Buffer> {
    return this.#inTurn(async () => {
      await using artefact = await this.#open(hex, ref)
      return await collect(artefact.range(start, start + length))
    })
  }

  async #encoded(hex: string, ref: ArtefactRef): Promise<EncodedBlob> {
    await using artefact = await this.#open(hex, ref)
    const bytes = await collect(artefact.verified())
    return Object.freeze({ base64: encodeBase64(bytes) })
  }

  async *#stream(hex: string, ref: ArtefactRef): AsyncGenerator<Uint8Array> {
    await using artefact = await this.#open(hex, ref)
    yield* artefact.verified()
  }

  async #open(hex: string, { uri }: ArtefactRef) {
    const artefact = await this.#store.open(hex)
    if (artefact === null) throw new ResourceNotFound(uri)
    return artefact
  }
}

async function collect(pieces: AsyncIterable<Uint8Array>): Promise<Buffer<ArrayBuffer>> {
  return Buffer.concat(await Array.fromAsync(pieces))
}
