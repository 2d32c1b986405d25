import { createHash } from 'node:crypto'
import { LinkRefusal } from './refusal.ts'

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
    // An empty frame brings nothing: it must neither take room nor gain time.
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

  /** The rest does not come: whoever reads the bytes gets the refusal. */
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

  /** All bytes in order. Throws a `LinkRefusal` when they do not come or are not those announced. */
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
