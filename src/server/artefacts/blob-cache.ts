import { hash as hashOf, webcrypto } from 'node:crypto'
import type { Content } from '../resources/producer.ts'
import type { OpenArtefact } from './store.ts'

/** An artefact's body ready to be sent, and the answer that carries it under its own URI. */
export interface CachedBlob {
  readonly mime: string
  readonly base64: Uint8Array
  readonly contents: readonly Content[]
}

/** The most recently used blobs, up to `maxBytes` of encoded bytes. */
export class BlobCache {
  readonly #maxBytes: number
  readonly #blobs = new Map<string, CachedBlob>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get(hex: string): CachedBlob | undefined {
    const blob = this.#blobs.get(hex)
    if (blob === undefined) return undefined
    this.#blobs.delete(hex)
    this.#blobs.set(hex, blob)
    return blob
  }

  set(hex: string, blob: CachedBlob): void {
    this.delete(hex)
    if (blob.base64.byteLength > this.#maxBytes) return
    this.#blobs.set(hex, blob)
    this.#bytes += blob.base64.byteLength
    for (const oldest of this.#blobs.keys()) {
      if (this.#bytes <= this.#maxBytes) break
      this.delete(oldest)
    }
  }

  delete(hex: string): void {
    this.#bytes -= this.#blobs.get(hex)?.base64.byteLength ?? 0
    this.#blobs.delete(hex)
  }
}

/** Lets `places` tasks run at a time; the others wait their turn, so that memory stays bounded. */
export function createGate(places: number) {
  const waiting: (() => void)[] = []
  let free = places
  return async <Value>(task: () => Promise<Value>): Promise<Value> => {
    if (free > 0) free--
    else await new Promise<void>(resolve => waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    }
  }
}

/** From here on hashing on another thread costs this one less than hashing itself. */
const minOtherThreadBytes = 256 * 1024

/** Memory for bodies on their way into the cache: used again, because fresh pages cost more than reading. */
export class Scratch {
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

/** The body of a small artefact, verified and encoded. Throws `artefact_corrupt` when it is damaged. */
export function readEncoded(artefact: OpenArtefact, scratch: Scratch): Promise<Uint8Array> {
  const { size_bytes: size, digest } = artefact.ref
  return scratch.use(size, async bytes => {
    const length = await artefact.fill(bytes)
    if (length === size && `sha256:${await sha256(bytes)}` === digest) return encodeBase64(bytes)
    // The store does what is to be done about a damaged body, and throws.
    return encodeBase64(await joined(artefact.verified()))
  })
}

async function joined(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  if (bytes.byteLength < minOtherThreadBytes) return hashOf('sha256', bytes, 'hex')
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes)).toString('hex')
}

/** Bytes encoded at a time: a multiple of 3, small enough to stay in the processor's cache. */
const encodeBytes = 48 * 1024

/** The ASCII bytes of the padded base64 text. */
export function encodeBase64(bytes: Uint8Array): Uint8Array {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const target = Buffer.allocUnsafeSlow(Math.ceil(source.length / 3) * 4)
  let length = 0
  for (let at = 0; at < source.length; at += encodeBytes) {
    length += target.write(source.toString('base64', at, at + encodeBytes), length, 'latin1')
  }
  return target
}
