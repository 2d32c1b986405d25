import type { HostLimits } from '../limits.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { PutOptionInvalid } from '../../artefacts/put-options.ts'
import type { ArtefactStore } from '../../artefacts/store.ts'
import { inWireName } from '../upload-options.ts'
import type { Incoming } from './message-parsers.ts'
import { LinkRefusal } from './failures.ts'
import { createHash } from 'node:crypto'

type ArtefactPut = Extract<Incoming, { type: 'artefact.put' }>

interface ArtefactIntakeParts {
  readonly store: Pick<ArtefactStore, 'put'> | null
  readonly limits: Pick<HostLimits, 'maxArtefactBytes' | 'maxUploads' | 'bodyTimeoutMs'>
  pause(): void
  resume(): void
}

/** Artefacts that one application sends: their bytes come one after the other. */
export class ArtefactIntake {
  readonly #parts: ArtefactIntakeParts
  /** The one whose bytes are coming. */
  #receiving: { readonly id: string | null; readonly upload: Upload } | null = null
  /** Those that the store has not finished, whose bytes may all be here. */
  #storing = 0
  /** Uploads that have all their bytes: several at once, when a piece holds several. */
  #full = 0

  constructor(parts: ArtefactIntakeParts) {
    this.#parts = parts
  }

  /**
   * Resolves with the members of the answer. A put before the bytes of the last one gives that up.
   */
  async put(message: ArtefactPut): Promise<object> {
    const { store, limits } = this.#parts
    this.#giveUp('another artefact.put came before all of its bytes')
    const { sizeBytes, sha256 } = message
    const upload = this.#uploadOf(sizeBytes, sha256)
    if (!upload.isComplete) this.#receiving = { id: message.id, upload }
    try {
      if (store === null) {
        throw new LinkRefusal('unsupported', 'artefacts are switched off on this server')
      }
      if (limits.maxArtefactBytes > 0 && sizeBytes > limits.maxArtefactBytes) {
        const most = `at most ${limits.maxArtefactBytes} bytes are taken`
        throw new LinkRefusal('limit', `the artefact has ${sizeBytes} bytes, ${most}`)
      }
      if (this.#storing >= limits.maxUploads) {
        throw new LinkRefusal('limit', `${limits.maxUploads} artefacts are being stored already`)
      }
      this.#storing++
      try {
        const { ref, existed } = await store.put(upload.bytes(), message.options)
        return { uri: ref.uri, sha256: ref.digest.replace(/^sha256:/, ''), existed }
      } finally {
        this.#storing--
      }
    } catch (error) {
      upload.refuse()
      throw asRefusal(error)
    }
  }

  /** Skips the bytes of a put that was refused. */
  passOver(sizeBytes: number): void {
    this.#giveUp('another artefact.put came before all of its bytes')
    const upload = this.#uploadOf(sizeBytes, undefined)
    upload.refuse()
    this.#receiving = { id: null, upload }
  }

  abort(id: string): object {
    if (this.#receiving?.id !== id) {
      throw new LinkRefusal('not_found', 'there is no such artefact on its way')
    }
    this.#giveUp('the application gave it up')
    return {}
  }

  /** What is wrong with the bytes, as a reason to close the link. */
  feed(bytes: Buffer): string | null {
    if (this.#receiving === null) return 'a binary frame came without an artefact.put before it'
    const { upload } = this.#receiving
    if (!upload.feed(bytes)) return 'an artefact has more bytes than were announced'
    if (upload.isComplete) this.#receiving = null
    return null
  }

  close(): void {
    this.#giveUp('the link is closed')
  }

  #uploadOf(sizeBytes: number, sha256: string | undefined): Upload {
    const { limits, pause, resume } = this.#parts
    return new Upload({
      sizeBytes,
      sha256,
      timeoutMs: limits.bodyTimeoutMs,
      pause: () => {
        if (++this.#full === 1) pause()
      },
      resume: () => {
        if (--this.#full === 0) resume()
      },
    })
  }

  #giveUp(why: string): void {
    this.#receiving?.upload.fail(new LinkRefusal('mismatch', `the artefact is given up: ${why}`))
    this.#receiving = null
  }
}

function asRefusal(error: unknown): unknown {
  if (error instanceof PutOptionInvalid) {
    const { pointer, detail } = inWireName(error)
    return new LinkRefusal('invalid', `${pointer} ${detail}`.trimStart())
  }
  if (!(error instanceof ServiceError)) return error
  if (error.code === 'artefact_too_large') return new LinkRefusal('limit', error.message)
  return error
}

/** What waits for the store before the application is asked to wait. */
const maxWaitingBytes = 1024 * 1024
/** Each piece costs more than its bytes. */
const maxWaitingPieces = 1024

export interface UploadParts {
  readonly sizeBytes: number
  /** Checked when given. */
  readonly sha256: string | undefined
  /** Without a byte for so long the upload is given up. */
  readonly timeoutMs: number
  pause(): void
  resume(): void
}

/** The bytes of one artefact on their way from the link to the store. */
export class Upload {
  readonly #parts: UploadParts
  readonly #waiting: Buffer[] = []
  #waitingBytes = 0
  /** Announced and not arrived yet. */
  #missing: number
  #failure: LinkRefusal | null = null
  #isRefused = false
  #paused = false
  #wake = () => {}

  constructor(parts: UploadParts) {
    this.#parts = parts
    this.#missing = parts.sizeBytes
  }

  get isComplete(): boolean {
    return this.#missing === 0
  }

  /** False when there are more bytes than were announced. */
  feed(bytes: Buffer): boolean {
    if (bytes.length > this.#missing) return false
    this.#missing -= bytes.length
    // An empty frame must neither use up the limit of pieces nor extend the time-out.
    if (this.#isRefused || bytes.length === 0) return true
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    if (!this.#paused && this.#isFull(1)) {
      this.#paused = true
      this.#parts.pause()
    }
    this.#wake()
    return true
  }

  /** Ends the upload early: the reader of its bytes gets the failure. */
  fail(failure: LinkRefusal): void {
    this.#failure ??= failure
    this.#wake()
  }

  /** The store does not want it: what still comes is passed over. */
  refuse(): void {
    this.#isRefused = true
    this.#waiting.length = 0
    this.#waitingBytes = 0
    this.#flow()
  }

  /**
   * All bytes in order. Throws a `LinkRefusal` when they do not come or are not those announced.
   */
  async *bytes(): AsyncGenerator<Uint8Array> {
    const { sha256 } = this.#parts
    const hash = sha256 === undefined ? null : createHash('sha256')
    for (;;) {
      if (this.#failure !== null) throw this.#failure
      const piece = this.#waiting.shift()
      if (piece !== undefined) {
        this.#waitingBytes -= piece.length
        this.#flow()
        hash?.update(piece)
        yield piece
        continue
      }
      if (this.#missing === 0) break
      await this.#more()
    }
    if (hash !== null && hash.digest('hex') !== sha256) {
      throw new LinkRefusal('mismatch', 'the bytes have another sha256 than was announced')
    }
  }

  #flow(): void {
    if (!this.#paused || this.#isFull(1 / 2)) return
    this.#paused = false
    this.#parts.resume()
  }

  #isFull(share: number): boolean {
    if (this.#waiting.length > maxWaitingPieces * share) return true
    return this.#waitingBytes > maxWaitingBytes * share
  }

  #more(): Promise<void> {
    return new Promise(resolve => {
      const { timeoutMs } = this.#parts
      const timer = setTimeout(() => {
        this.fail(new LinkRefusal('limit', `no byte of the artefact came for ${timeoutMs} ms`))
      }, timeoutMs).unref()
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = () => {}
        resolve()
      }
    })
  }
}
