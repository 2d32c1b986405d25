import { base64Length, encodeBase64 } from '../resources/base64.ts'
import { ResourceNotFound } from '../resources/errors.ts'
import type { EncodedBlob, StreamedBlob } from '../resources/producer.ts'
import { createGate, createSharing } from './concurrency.ts'
import { corrupt } from './open-artefact.ts'
import type { ArtefactRef, ArtefactStore, OpenArtefact } from './store.ts'
import { sha256 } from './body-source.ts'

/** Bodies read into memory at the same time. */
const maxLoads = 4
/** A body this small is kept at its first read: streaming it would cost more. */
const smallBytes = 1024 * 1024
/** A multiple of 3, so that pieces turn into base64 without remainder. */
const pieceBytes = 384 * 1024
/** What a kept body costs beside its bytes: its key, content item and envelope, as measured. */
const keptOverheadBytes = 5 * 1024
/** Files remembered as holding the right bytes. */
const maxVerified = 10_000

interface BlobLoaderOptions {
  store: ArtefactStore
  limits: { blobCacheBytes: number; maxCachedBlobBytes: number }
}

/**
 * Decides how a body is sent. Up to `maxCachedBlobBytes` it is verified before its first byte
 * goes out, and not again while its file stays as it is. What is small, or was asked for lately,
 * is kept encoded; anything else is streamed from its file, because filling the cache with a body
 * that is read once costs more than sending it. Larger bodies are verified on their way.
 */
export class BlobLoader {
  readonly #store: ArtefactStore
  readonly #maxCachedBlobBytes: number
  readonly #kept: WeighedCache<EncodedBlob>
  /** Streamed lately; together no more than the cache could hold, so keeping them pays. */
  readonly #lately: WeighedCache<true>
  /** Hash → state of the file that was found right. */
  readonly #verified = new Map<string, string>()
  readonly #inTurn = createGate(maxLoads)
  readonly #scratch = new Scratch()
  readonly #keeping = createSharing<EncodedBlob | null>()
  readonly #checking = createSharing<boolean>()

  constructor({ store, limits }: BlobLoaderOptions) {
    this.#store = store
    this.#maxCachedBlobBytes = limits.maxCachedBlobBytes
    this.#kept = new WeighedCache(limits.blobCacheBytes)
    this.#lately = new WeighedCache(limits.blobCacheBytes)
    store.onRemove(hex => this.forget(hex))
  }

  /** Null when the artefact went meanwhile. Throws `artefact_corrupt`. */
  async load(hex: string, ref: ArtefactRef): Promise<EncodedBlob | StreamedBlob | null> {
    const size = ref.size_bytes
    const kept = this.#kept.get(hex)
    if (kept !== undefined) return kept
    if (size > this.#maxCachedBlobBytes) {
      return { size, open: cut => this.#pieces(ref, hex, cut, artefact => artefact.verified()) }
    }
    if (size <= smallBytes || this.#lately.get(hex) !== undefined) {
      return this.#keeping(hex, () => this.#keep(hex))
    }
    this.#lately.set(hex, true, base64Length(size))
    if (!(await this.#checking(hex, () => this.#check(hex)))) return null
    const checked = (artefact: OpenArtefact) => this.#checked(hex, artefact)
    return { size, open: cut => this.#pieces(ref, hex, cut, checked) }
  }

  /** Up to `length` bytes from `start` on, unverified as a range; null when the artefact went. */
  bytes(hex: string, start: number, length: number): Promise<Buffer | null> {
    return this.#opened(hex, null, async artefact => {
      const there = Math.max(0, artefact.ref.size_bytes - start)
      const bytes = Buffer.allocUnsafeSlow(Math.min(length, there))
      return bytes.subarray(0, await artefact.fill(bytes, start))
    })
  }

  /** The artefact is gone: nothing of it is served from memory. */
  forget(hex: string): void {
    this.#kept.delete(hex)
    this.#lately.delete(hex)
    this.#verified.delete(hex)
  }

  #keep(hex: string): Promise<EncodedBlob | null> {
    return this.#opened(hex, null, artefact =>
      this.#scratch.use(artefact.ref.size_bytes, async bytes => {
        await this.#verify(hex, artefact, bytes)
        const blob = Object.freeze({ base64: encodeBase64(bytes) })
        this.#kept.set(hex, blob, blob.base64.byteLength + keptOverheadBytes)
        return blob
      }),
    )
  }

  /** Whether the artefact is there and undamaged. */
  #check(hex: string): Promise<boolean> {
    return this.#opened(hex, false, async artefact => {
      if (this.#verified.get(hex) === artefact.state) return true
      const { size_bytes: size } = artefact.ref
      await this.#scratch.use(size, bytes => this.#verify(hex, artefact, bytes))
      return true
    })
  }

  async #verify(hex: string, artefact: OpenArtefact, bytes: Uint8Array<ArrayBuffer>) {
    const length = await artefact.fill(bytes, 0)
    if (length !== bytes.byteLength || (await sha256(bytes)) !== hex) {
      // The store does what is to be done about a damaged body, and throws.
      for await (const _ of artefact.verified());
      throw corrupt(artefact.ref)
    }
    if (this.#verified.size >= maxVerified) this.#verified.clear()
    this.#verified.set(hex, artefact.state)
  }

  async #opened<Value>(
    hex: string,
    absent: Value,
    task: (artefact: OpenArtefact) => Promise<Value>,
  ): Promise<Value> {
    return this.#inTurn(async () => {
      const artefact = await this.#store.open(hex)
      if (artefact === null) return absent
      try {
        return await task(artefact)
      } finally {
        await artefact.close()
      }
    })
  }

  async *#pieces(
    ref: ArtefactRef,
    hex: string,
    cut: () => void,
    from: (artefact: OpenArtefact) => AsyncIterable<Uint8Array>,
  ): AsyncGenerator<Uint8Array> {
    const artefact = await this.#store.openToSend(hex, cut)
    if (artefact === null) throw new ResourceNotFound(ref.uri)
    try {
      yield* from(artefact)
    } finally {
      await artefact.close()
    }
  }

  /** The bytes of a file that was found right, in one piece of memory; hashed again if it changed. */
  async *#checked(hex: string, artefact: OpenArtefact): AsyncGenerator<Uint8Array> {
    if (this.#verified.get(hex) !== artefact.state) return yield* artefact.verified()
    const piece = new Uint8Array(Math.min(pieceBytes, artefact.ref.size_bytes))
    for (let at = 0; at < artefact.ref.size_bytes;) {
      const length = await artefact.fill(piece, at)
      if (length === 0) throw corrupt(artefact.ref)
      yield piece.subarray(0, length)
      at += length
    }
  }
}

/** The most recently used values, up to `maxBytes` of what they weigh together. */
export class WeighedCache<Value> {
  readonly #maxBytes: number
  readonly #entries = new Map<string, { value: Value; bytes: number }>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** A value heavier than the whole cache is not kept. */
  set(key: string, value: Value, bytes: number): void {
    this.delete(key)
    if (bytes > this.#maxBytes) return
    this.#entries.set(key, { value, bytes })
    this.#bytes += bytes
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) break
      this.delete(oldest)
    }
  }

  delete(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0
    this.#entries.delete(key)
  }
}

/** Memory for bodies on their way into the cache: used again, because fresh pages cost more than reading. */
class Scratch {
  readonly #spare: Uint8Array<ArrayBuffer>[] = []

  async use<Value>(
    size: number,
    task: (bytes: Uint8Array<ArrayBuffer>) => Promise<Value>,
  ): Promise<Value> {
    const last = this.#spare.pop()
    const memory =
      last !== undefined && last.byteLength >= size ? last : new Uint8Array(Math.max(size, 1))
    try {
      return await task(memory.subarray(0, size))
    } finally {
      this.#spare.push(memory)
    }
  }
}
