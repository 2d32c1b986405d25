import { Readable } from 'node:stream'

/** A body up to this size is held; the rest of a larger one waits until it is read as a stream. */
const maxHeldBytes = 128 * 1024

/** Where a body comes from. `abort` ends the request, and does nothing after its end. */
interface BodySource {
  pause(): void
  resume(): void
  abort(): void
}

/**
 * The body of an answer, which its transport fills with `push` and `end`. Most bodies are small and
 * come at once: for them a stream would cost more than all else.
 */
export class AnswerBody {
  readonly #source: BodySource
  #held: Buffer[] = []
  #heldBytes = 0
  #end: { error: Error | null } | null = null
  #stream: Readable | null = null
  #collected = (): void => {}

  constructor(source: BodySource) {
    this.#source = source
  }

  push(chunk: Buffer): void {
    if (this.#stream !== null) {
      if (!this.#stream.push(chunk)) this.#source.pause()
      return
    }
    this.#held.push(chunk)
    this.#heldBytes += chunk.length
    if (this.#heldBytes <= maxHeldBytes) return
    this.#source.pause()
    this.#collected()
  }

  /** `error`: the body was cut. */
  end(error: Error | null): void {
    this.#end ??= { error }
    this.#endStream()
    this.#collected()
  }

  /** All of the body, or its beginning when it is large. Rejects when it was cut. */
  async collect(): Promise<{ bytes: Buffer; isWhole: boolean }> {
    if (this.#end === null && this.#heldBytes <= maxHeldBytes) {
      await new Promise<void>(resolve => (this.#collected = resolve))
    }
    if (this.#end?.error) throw this.#end.error
    const [first] = this.#held
    const bytes = this.#held.length === 1 && first ? first : Buffer.concat(this.#held)
    this.#held = []
    return { bytes, isWhole: this.#end !== null }
  }

  /** What was not collected, for one reader. It fails when the body is cut. */
  stream(): Readable {
    const stream = new Readable({
      read: () => this.#source.resume(),
      destroy: (error, done) => {
        this.#source.abort()
        done(error)
      },
    })
    // It may be cut before its reader has begun, which then gets the error.
    stream.on('error', () => {})
    for (const chunk of this.#held) stream.push(chunk)
    this.#held = []
    this.#stream = stream
    this.#endStream()
    return stream
  }

  destroy(): void {
    if (this.#stream === null) this.#source.abort()
    else this.#stream.destroy()
  }

  #endStream(): void {
    if (this.#end === null || this.#stream === null) return
    if (this.#end.error === null) this.#stream.push(null)
    else this.#stream.destroy(this.#end.error)
  }
}
