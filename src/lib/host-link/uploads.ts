import { createHash } from 'node:crypto'
import type { JsonObject } from '../util/json.ts'
import type { Result } from '../util/result.ts'
import { type ArtefactFacts, artefactMembers, type ArtefactSource } from './artefact-source.ts'
import type { ClientLimits } from './host-client-options.ts'
import { HostLinkError } from './errors.ts'
import { messageText } from './message-text.ts'
import type { AskFailure, Link } from './link.ts'

export interface PutArtefact {
  /** `artefact://sha256/<hex>` */
  readonly uri: string
  readonly sha256: string
  /** The server already had the same bytes. */
  readonly existed: boolean
}

type Answer = Result<JsonObject, AskFailure>

/** Rejects when the caller aborts or the link is lost. */
interface Stopped extends Promise<never> {
  release(): void
}

interface Job {
  readonly link: Link
  readonly id: string
  readonly size: number
  readonly chunks: AsyncIterator<Uint8Array>
  readonly answered: Promise<Answer>
  readonly stopped: Stopped
}

/** Sends artefacts one at a time, in order. */
export class Uploads {
  readonly #limits: ClientLimits
  readonly #link: () => Link | null
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  /** `link` returns the open link, or null. */
  constructor(limits: ClientLimits, link: () => Link | null) {
    this.#limits = limits
    this.#link = link
  }

  /** Keeps the order of the calls, even when `source` resolves later. */
  async put(
    source: ArtefactSource | Promise<ArtefactSource>,
    facts: ArtefactFacts,
    signal: AbortSignal | undefined,
  ): Promise<PutArtefact> {
    // Awaited below; prevents an unhandled rejection before that.
    if (source instanceof Promise) source.catch(() => {})
    if (this.#waiting >= this.#limits.maxUploads) {
      throw new HostLinkError('limit', `${this.#waiting} artefacts are already queued`, true)
    }
    this.#waiting++
    const sent = this.#last.then(async () => this.#send(await source, facts, signal))
    this.#last = sent.catch(() => {})
    try {
      return await sent
    } finally {
      this.#waiting--
    }
  }

  async #send(
    source: ArtefactSource,
    facts: ArtefactFacts,
    signal: AbortSignal | undefined,
  ): Promise<PutArtefact> {
    const link = this.#link()
    if (link === null) {
      throw new HostLinkError('disconnected', 'no server is connected: await connected()', true)
    }
    if (signal?.aborted) throw givenUp()
    const members = artefactMembers(source.size, facts)
    const most = link.limits.max_artefact_bytes
    if (most === null) throw new HostLinkError('unsupported', 'the server keeps no artefacts')
    if (most > 0 && source.size > most) {
      const said = `the artefact has ${source.size} bytes, over the server's limit of ${most}`
      throw new HostLinkError('limit', said)
    }
    const id = link.nextId()
    // Announce the upload only after the first read succeeded.
    const chunks = source.chunks()[Symbol.asyncIterator]()
    const stopped = whenStopped(link, signal)
    try {
      const first = await Promise.race([chunks.next(), stopped])
      const answered = link.askAs(id, 'artefact.put', members, null)
      const job: Job = { link, id, size: source.size, chunks, answered, stopped }
      const own = await this.#sendBytes(job, first)
      return taken(await this.#inTime(job), own)
    } finally {
      stopped.release()
      void close(chunks)
    }
  }

  /** Resolves with the hash of the sent bytes; null when the answer came before the end. */
  async #sendBytes(job: Job, first: IteratorResult<Uint8Array>): Promise<string | null> {
    const { link, id, size, chunks, answered, stopped } = job
    const hash = createHash('sha256')
    let early = false
    void answered.then(() => (early = true))
    let left = size
    try {
      for (let next = first; !next.done; next = await Promise.race([chunks.next(), stopped])) {
        left -= next.value.length
        if (left < 0) throw sizeDiffers(size)
        hash.update(next.value)
        for (const frame of framesOf(next.value, this.#frameBytes(link))) {
          await Promise.race([link.drained(), stopped])
          // The server has already refused the upload.
          if (early) {
            abort(link, id)
            return null
          }
          link.send(frame)
        }
      }
      if (left > 0) throw sizeDiffers(size)
    } catch (error) {
      if (!link.open) return null
      abort(link, id)
      // The server answers an aborted upload too; the next one must wait for that.
      await this.#inTime(job)
      throw error
    }
    return hash.digest('hex')
  }

  #frameBytes(link: Link): number {
    return Math.min(this.#limits.uploadFrameBytes, link.limits.max_message_bytes)
  }

  /** Waits for the answer after the last byte, with a timeout. */
  async #inTime({ link, answered }: Job): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<Answer>()
    const ms = this.#limits.uploadAnswerTimeoutMs
    const cancel = link.later(ms, () => {
      const message = `no answer to the artefact within ${ms} ms`
      resolve({ ok: false, failure: { code: 'timeout', message, retryable: true } })
    })
    try {
      return await Promise.race([answered, promise])
    } finally {
      cancel()
    }
  }
}

/** A stalled source must not block later uploads. */
function whenStopped(link: Link, signal: AbortSignal | undefined): Stopped {
  const { promise, reject } = Promise.withResolvers<never>()
  const lost = () => reject(new HostLinkError('disconnected', 'the link was lost', true))
  const stop = () => reject(givenUp())
  link.signal.addEventListener('abort', lost)
  signal?.addEventListener('abort', stop)
  promise.catch(() => {})
  const release = () => {
    link.signal.removeEventListener('abort', lost)
    signal?.removeEventListener('abort', stop)
  }
  return Object.assign(promise, { release })
}

/** Closes the source; ignores errors. */
async function close(chunks: AsyncIterator<Uint8Array>): Promise<void> {
  try {
    await chunks.return?.()
  } catch {}
}

function abort(link: Link, id: string): void {
  link.send(messageText('artefact.abort', { upload: JSON.stringify(id) }))
}

function taken(answer: Answer, own: string | null): PutArtefact {
  if (!answer.ok) {
    const { code, message, retryable } = answer.failure
    throw new HostLinkError(code, message, retryable)
  }
  const { uri, sha256, existed } = answer.value
  if (typeof uri !== 'string' || sha256 !== own || own === null) {
    throw new HostLinkError('mismatch', 'the server received other bytes than were sent')
  }
  return { uri, sha256: own, existed: existed === true }
}

function* framesOf(bytes: Uint8Array, most: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += most) yield bytes.subarray(at, at + most)
}

function sizeDiffers(size: number): HostLinkError {
  return new HostLinkError('mismatch', `the source does not yield the ${size} bytes announced`)
}

function givenUp(): HostLinkError {
  return new HostLinkError('stopped', 'the upload was aborted')
}
