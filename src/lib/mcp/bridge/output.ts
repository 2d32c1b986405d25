import type { Writable } from 'node:stream'
import { pause, systemTimer } from '../../util/time.ts'

/** Writes one message a line to a client that may read slowly. */
export class Output {
  readonly #stream: Writable
  readonly #closed = new AbortController()
  /** Pending while the client has not read enough. */
  #full: PromiseWithResolvers<void> | null = null

  constructor(stream: Writable) {
    this.#stream = stream
    const release = (): void => {
      this.#full?.resolve()
      this.#full = null
    }
    const close = (): void => {
      this.#closed.abort()
      release()
    }
    stream.on('error', close)
    stream.once('close', close)
    stream.on('drain', release)
  }

  /** Aborted when the client has closed the stream. */
  get closed(): AbortSignal {
    return this.#closed.signal
  }

  /** Resolves when the client can take more, or has closed the stream. */
  async send(line: string): Promise<void> {
    if (this.closed.aborted || this.#stream.write(`${line}\n`)) return
    this.#full ??= Promise.withResolvers()
    await this.#full.promise
  }

  /** Waits up to `waitMs` for the client to read the rest. */
  async flush(waitMs: number): Promise<void> {
    const flushed = new AbortController()
    this.#stream.write('', () => flushed.abort())
    await pause(systemTimer, waitMs, AbortSignal.any([flushed.signal, this.closed]))
    if (this.#stream.writableLength > 0) this.#stream.destroy()
  }
}
