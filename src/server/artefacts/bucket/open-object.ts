import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { ServiceError } from '../../../lib/util/errors.ts'
import { retryDelay } from '../../../lib/util/time.ts'
import { piecesBetween, verifiedPieces } from '../open-artefact.ts'
import type { ArtefactRef, OpenArtefact } from '../store.ts'
import type { Bucket, ObjectFacts } from './bucket.ts'

interface ObjectOptions {
  readonly bucket: Bucket
  readonly key: string
  readonly facts: ObjectFacts
  readonly ref: ArtefactRef
  /** Runs before `artefact_corrupt` is thrown. */
  onDamage(): Promise<void>
}

/** An artefact whose object has the right size. */
export function openObject({ bucket, key, facts, ref, onDamage }: ObjectOptions): OpenArtefact {
  const reader = new ObjectReader(bucket, key, facts)
  const readers = new Set([reader])

  /** Reads with a request of its own, which ends at `end`. */
  async function* between(start: number, end: number): AsyncGenerator<Uint8Array> {
    const own = new ObjectReader(bucket, key, facts)
    readers.add(own)
    try {
      yield* piecesBetween(start, end, (target, position) => own.fill(target, position, end))
    } finally {
      own.close()
      readers.delete(own)
    }
  }

  /** Reads it once more, so that a byte changed in transit does not cost the artefact. */
  async function checkAgain(): Promise<void> {
    const hash = createHash('sha256')
    for await (const piece of between(0, facts.size)) hash.update(piece)
    if (`sha256:${hash.digest('hex')}` !== ref.digest) return onDamage()
    const message = `${bucket.name}: ${ref.uri} was changed in transit`
    throw new ServiceError('storage_unavailable', message, { hint: 'read it again' })
  }

  return {
    ref,
    state: `${key} ${facts.etag}`,
    fill: (target, position) => reader.fill(target, position),
    range: (start, end) => between(Math.max(0, start), Math.min(end, facts.size)),
    verified: () => verifiedPieces(ref, between(0, facts.size), checkAgain),
    async close() {
      for (const each of readers) each.close()
    },
  }
}

/** Connections that may be lost in a row, with fewer than `progressBytes` read between them. */
const maxCuts = 5
const progressBytes = 1024 * 1024

/**
 * Reads one object. Consecutive reads share one request. When its connection is lost, the request is
 * repeated from the next byte, for the same ETag.
 */
class ObjectReader {
  readonly #bucket: Bucket
  readonly #key: string
  readonly #facts: ObjectFacts
  #stream: Readable | null = null
  #pieces: AsyncIterator<Uint8Array> | null = null
  #rest: Uint8Array = new Uint8Array()
  /** The next byte of the request. */
  #at = 0
  /** Exclusive: the end of the request. */
  #end = 0
  #cuts = 0
  #cutAt = 0

  constructor(bucket: Bucket, key: string, facts: ObjectFacts) {
    this.#bucket = bucket
    this.#key = key
    this.#facts = facts
  }

  /**
   * Fills `target` from byte `position` on; returns the number of bytes. `end` is where the caller
   * will stop reading.
   */
  async fill(target: Uint8Array, position: number, end?: number): Promise<number> {
    const length = Math.min(target.length, this.#facts.size - position)
    if (length <= 0) return 0
    if (position !== this.#at || position + length > this.#end) {
      // A caller that continues will read to the end.
      const isNext = position === this.#at && position > 0
      this.close()
      this.#at = position
      this.#end = end ?? (isNext ? this.#facts.size : position + length)
      await this.#request()
    }
    for (let done = 0; done < length;) {
      const piece = await this.#next()
      const part = piece.subarray(0, length - done)
      target.set(part, done)
      done += part.length
      this.#at += part.length
      this.#rest = piece.subarray(part.length)
    }
    return length
  }

  close(): void {
    this.#stream?.destroy()
    this.#stream = null
    this.#pieces = null
    this.#rest = new Uint8Array()
  }

  async #next(): Promise<Uint8Array> {
    if (this.#rest.length > 0) return this.#rest
    for (;;) {
      try {
        if (this.#pieces === null) await this.#request()
        const next = await this.#pieces?.next()
        if (next?.done === false) return next.value
      } catch (error) {
        // All others mean that the connection was lost.
        if (error instanceof ServiceError && error.code !== 'storage_unavailable') throw error
      }
      await this.#prepareRetry()
    }
  }

  async #request(): Promise<void> {
    const { etag } = this.#facts
    const stream = await this.#bucket.get(this.#key, etag, this.#at, this.#end)
    if (stream === null) {
      const message = `${this.#bucket.name}: the object ${this.#key} changed while it was read`
      throw new ServiceError('storage_failed', message, { hint: 'read the artefact again' })
    }
    this.#stream = stream
    this.#pieces = stream[Symbol.asyncIterator]()
  }

  async #prepareRetry(): Promise<void> {
    this.close()
    if (this.#at - this.#cutAt >= progressBytes) this.#cuts = 0
    this.#cutAt = this.#at
    if (++this.#cuts >= maxCuts) {
      const message = `${this.#bucket.name}: the object ${this.#key} ends at byte ${this.#at}`
      throw new ServiceError('storage_unavailable', message, { hint: 'try again' })
    }
    await delay(retryDelay(this.#cuts - 1, Math.random))
  }
}
