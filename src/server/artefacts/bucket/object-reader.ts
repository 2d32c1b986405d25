import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { ServiceError } from '../../../lib/util/errors.ts'
import { retryDelay } from '../../../lib/util/time.ts'
import type { Bucket, ObjectFacts } from './bucket.ts'

/** Cuts in a row without `progressBytes` between them. */
const maxCuts = 5
const progressBytes = 1024 * 1024

/**
 * Reads one object. Bytes that follow each other come from one request, which is made again, from
 * the byte where it was cut and for the same ETag, when the connection is lost.
 */
export class ObjectReader {
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
   * Fills `target` from byte `position` on; returns how many bytes there were. `end` says how far
   * the caller means to read. Throws when the bucket gives no more.
   */
  async fill(target: Uint8Array, position: number, end?: number): Promise<number> {
    const length = Math.min(target.length, this.#facts.size - position)
    if (length <= 0) return 0
    if (position !== this.#at || position + length > this.#end) {
      // A caller that reads on where it was reads to the end.
      const isNext = position === this.#at && position > 0
      this.close()
      this.#at = position
      this.#end = end ?? (isNext ? this.#facts.size : position + length)
      await this.#ask()
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
        if (this.#pieces === null) await this.#ask()
        const next = await this.#pieces?.next()
        if (next?.done === false) return next.value
      } catch (error) {
        // Anything else is a connection that was lost.
        if (error instanceof ServiceError && error.code !== 'storage_unavailable') throw error
      }
      await this.#wasCut()
    }
  }

  async #ask(): Promise<void> {
    const { etag } = this.#facts
    const stream = await this.#bucket.get(this.#key, etag, this.#at, this.#end)
    if (stream === null) {
      const message = `${this.#bucket.name}: the object ${this.#key} changed while it was read`
      throw new ServiceError('storage_failed', message, { hint: 'read the artefact again' })
    }
    this.#stream = stream
    this.#pieces = stream[Symbol.asyncIterator]()
  }

  async #wasCut(): Promise<void> {
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
