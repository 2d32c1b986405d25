import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { invalidMember, orThrow } from '../../lib/host-link/check.ts'
import { type Message, sidecar } from '../../lib/host-link/messages.ts'
import { readJson } from '../../lib/host-link/read-json.ts'
import { messageOf, ServiceError } from '../../lib/util/errors.ts'
import { parseExact } from '../../lib/util/exact-json.ts'
import type { ArtefactFields, ArtefactStore } from '../artefacts/store.ts'
import { bodyStream } from '../http/body.ts'
import { switchedOff } from './guards.ts'
import type { HostLimits } from './limits.ts'
import { LinkRefusal } from './link/failures.ts'

export type UploadLimits = Pick<HostLimits, 'maxArtefactBytes' | 'maxUploads' | 'bodyTimeoutMs'>

/** The artefacts that are being stored, so many at a time. */
export class Uploads {
  readonly #store: Pick<ArtefactStore, 'put'> | null
  readonly #limits: UploadLimits
  #running = 0

  /** `store` is null when artefacts are switched off. */
  constructor(store: Pick<ArtefactStore, 'put'> | null, limits: UploadLimits) {
    this.#store = store
    this.#limits = limits
  }

  /** Stores the body of a post. Rejects with a `ServiceError`; nothing stays of a broken upload. */
  receive(req: IncomingMessage): Promise<object> {
    const { maxArtefactBytes, bodyTimeoutMs: timeoutMs } = this.#limits
    const fields = { ...querySidecar(req.url ?? ''), mime: req.headers['content-type'] }
    // 0 is the store's word for "no bound".
    return this.put(bodyStream(req, { maxBytes: maxArtefactBytes || Infinity, timeoutMs }), fields)
  }

  async put(bytes: AsyncIterable<Uint8Array>, fields: ArtefactFields): Promise<object> {
    const { maxUploads } = this.#limits
    if (this.#store === null) {
      switchedOff('artefacts are', '--no-artefacts')
    }
    if (this.#running >= maxUploads) {
      const message = `${maxUploads} artefacts are being received already`
      throw new ServiceError('limit_reached', message, {
        hint: 'send it again when another one is done',
      })
    }
    this.#running++
    try {
      const { ref, existed } = await this.#store.put(bytes, fields)
      return { uri: ref.uri, sha256: ref.digest.replace(/^sha256:/, ''), existed }
    } finally {
      this.#running--
    }
  }
}

type Put = Message<'artefact.put'>

/** An artefact whose bytes are coming. */
interface Arriving {
  readonly id: string
  readonly stream: PassThrough
  missing: number
}

/** What waits for the store before the application is asked to wait. */
const maxWaitingBytes = 1024 * 1024

/** The artefacts of one connection: their bytes come one after the other, in binary frames. */
export class LinkUploads {
  readonly #uploads: Uploads
  readonly #limits: UploadLimits
  readonly #channel: { pause(): void; resume(): void }
  #current: Arriving | null = null
  /** Streams that are full: one that has all of its bytes may be, beside the current one. */
  readonly #full = new Set<PassThrough>()

  constructor(uploads: Uploads, limits: UploadLimits, channel: { pause(): void; resume(): void }) {
    this.#uploads = uploads
    this.#limits = limits
    this.#channel = channel
  }

  /** Rejects with a `LinkRefusal` or `ServiceError`. Gives up a put that lacks bytes. */
  async put({ type: _, id, size, sha256, ...fields }: Put): Promise<object> {
    const stream = new PassThrough({ highWaterMark: maxWaitingBytes })
    // The store may have stopped to read.
    stream.on('error', () => {})
    stream.on('drain', () => this.#drained(stream)).on('close', () => this.#drained(stream))
    this.#begin({ id, stream, missing: size })
    const { maxArtefactBytes: most } = this.#limits
    try {
      if (most > 0 && size > most) {
        const message = `the artefact has ${size} bytes, at most ${most} bytes are taken`
        throw new LinkRefusal('limit', message)
      }
      return await this.#uploads.put(checked(stream, sha256), fields)
    } finally {
      stream.destroy()
    }
  }

  abort(id: string): void {
    if (this.#current?.id !== id) {
      throw new LinkRefusal('not_found', 'there is no such artefact on its way')
    }
    this.#giveUp('the application gave it up')
  }

  /**
   * What is wrong with the bytes, as a reason to close the link; null: nothing. Those of a put that
   * was refused are skipped.
   */
  feed(bytes: Buffer): string | null {
    const current = this.#current
    if (current === null) return null
    if (bytes.length > current.missing) return 'an artefact has more bytes than were announced'
    current.missing -= bytes.length
    const { stream } = current
    if (stream.writable && !stream.write(bytes)) {
      this.#full.add(stream)
      this.#channel.pause()
    }
    this.#endComplete()
    return null
  }

  close(): void {
    this.#giveUp('the link is closed')
  }

  #begin(next: Arriving): void {
    this.#giveUp('another artefact.put came before all of its bytes')
    this.#current = next
    this.#endComplete()
  }

  #endComplete(): void {
    if (this.#current?.missing !== 0) return
    this.#current.stream.end()
    this.#current = null
  }

  #giveUp(why: string): void {
    const failure = new LinkRefusal('mismatch', `the artefact is given up: ${why}`)
    this.#current?.stream.destroy(failure)
    this.#current = null
  }

  #drained(stream: PassThrough): void {
    if (this.#full.delete(stream) && this.#full.size === 0) this.#channel.resume()
  }
}

/** The bytes of the stream. Throws at their end when they have another hash than was announced. */
async function* checked(
  stream: PassThrough,
  sha256: string | undefined,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256')
  for await (const piece of stream) {
    if (sha256 !== undefined) hash.update(piece)
    yield piece
  }
  if (sha256 !== undefined && hash.digest('hex') !== sha256) {
    throw new LinkRefusal('mismatch', 'the bytes have another sha256 than was announced')
  }
}

function querySidecar(url: string) {
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : ''
  const parameters: Record<string, unknown> = Object.fromEntries(new URLSearchParams(query))
  const { metadata } = parameters
  if (typeof metadata === 'string') parameters['metadata'] = metadataOf(metadata)
  return orThrow(sidecar, parameters)
}

function metadataOf(json: string): unknown {
  try {
    return parseExact(readJson(json).text)
  } catch (error) {
    throw invalidMember('/metadata', messageOf(error))
  }
}
