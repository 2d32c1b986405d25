import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { invalidMember, orThrow } from '../../lib/host-link/check.ts'
import { type Message, sidecar } from '../../lib/host-link/messages.ts'
import { readJson } from '../../lib/host-link/read-json.ts'
import { messageOf } from '../../lib/util/errors.ts'
import { parseExact } from '../../lib/util/exact-json.ts'
import type { ArtefactFields, ArtefactStore } from '../artefacts/store.ts'
import { bodyStream } from '../http/body.ts'
import { switchedOff } from './guards.ts'
import type { ServerLimits } from '../http/limits.ts'
import { LinkRefusal } from './link/failures.ts'

/** The artefacts that are being stored. */
export class Uploads {
  readonly #store: Pick<ArtefactStore, 'put'> | null
  readonly #limits: Pick<ServerLimits, 'maxArtefactBytes' | 'bodyTimeoutMs'>

  /** `store` is null when artefacts are switched off. */
  constructor(
    store: Pick<ArtefactStore, 'put'> | null,
    limits: Pick<ServerLimits, 'maxArtefactBytes' | 'bodyTimeoutMs'>,
  ) {
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
    const store = this.#store ?? switchedOff('artefacts are', '--no-artefacts')
    const { ref, existed } = await store.put(bytes, fields)
    return { uri: ref.uri, sha256: ref.digest.replace(/^sha256:/, ''), existed }
  }
}

/** What waits for the store before the application is asked to wait. */
const maxWaitingBytes = 1024 * 1024

/** The artefacts of one connection: their bytes come one after the other, in binary frames. */
export class LinkUploads {
  readonly #uploads: Uploads
  readonly #maxBytes: number
  readonly #channel: { pause(): void; resume(): void }
  /** The artefact whose bytes are coming. */
  #current: { readonly stream: PassThrough; missing: number } | null = null

  /** `maxBytes`: of one artefact; 0: no bound. */
  constructor(uploads: Uploads, maxBytes: number, channel: { pause(): void; resume(): void }) {
    this.#uploads = uploads
    this.#maxBytes = maxBytes
    this.#channel = channel
  }

  /** Rejects with a `LinkRefusal` or `ServiceError`. Gives up a put that lacks bytes. */
  async put({ type: _, id: __, size, ...fields }: Message<'artefact.put'>): Promise<object> {
    this.#giveUp('another artefact.put came before all of its bytes')
    if (this.#maxBytes > 0 && size > this.#maxBytes) {
      const message = `the artefact has ${size} bytes, at most ${this.#maxBytes} bytes are taken`
      throw new LinkRefusal('limit', message)
    }
    const stream = new PassThrough({ highWaterMark: maxWaitingBytes })
    const resume = () => this.#channel.resume()
    stream.on('drain', resume).on('close', resume)
    // The store may have stopped to read.
    stream.on('error', () => {})
    this.#current = { stream, missing: size }
    this.#endComplete()
    try {
      return await this.#uploads.put(stream, fields)
    } finally {
      stream.destroy()
    }
  }

  /**
   * What is wrong with the bytes, as a reason to close the link; null: nothing. Those of an artefact
   * that was refused are dropped.
   */
  feed(bytes: Buffer): string | null {
    const current = this.#current
    if (current === null) return null
    if (bytes.length > current.missing) return 'an artefact has more bytes than were announced'
    current.missing -= bytes.length
    const { stream } = current
    if (stream.writable && !stream.write(bytes)) this.#channel.pause()
    this.#endComplete()
    return null
  }

  close(): void {
    this.#giveUp('the link is closed')
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
}

function querySidecar(url: string) {
  const { searchParams } = new URL(url, 'http://localhost')
  const parameters: Record<string, unknown> = Object.fromEntries(searchParams)
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
