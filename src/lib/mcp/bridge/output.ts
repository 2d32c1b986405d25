import type { Writable } from 'node:stream'
import { pause, systemTimer } from '../../util/time.ts'

/** Writes one message a line to a client that may read slowly. */
export class Output {
  /** Settles when the client closed the stream. */
  readonly closed: Promise<void>
  readonly #stream: Writable
  #isClosed = false
  /** Pending while the client has not read enough. */
  #full: PromiseWithResolvers<void> | null = null

  constructor(stream: Writable) {
    this.#stream = stream
    const { promise, resolve } = Promise.withResolvers<void>()
    this.closed = promise
    const end = (): void => {
      this.#isClosed = true
      this.#release()
      resolve()
    }
    stream.on('error', end)
    stream.once('close', end)
    stream.on('drain', () => this.#release())
  }

  /** Resolves when the client can take more, or has closed the stream. */
  async send(line: string): Promise<void> {
    if (this.#isClosed || this.#stream.write(`${line}\n`)) return
    this.#full ??= Promise.withResolvers()
    await this.#full.promise
  }

  /** Waits up to `waitMs` for the client to read the rest, then takes no more. */
  async end(waitMs: number): Promise<void> {
    const flushed = new AbortController()
    this.#stream.write('', () => flushed.abort())
    await Promise.race([this.closed, pause(systemTimer, waitMs, flushed.signal)])
    this.#isClosed = true
    if (this.#stream.writableLength > 0) this.#stream.destroy()
  }

  #release(): void {
    this.#full?.resolve()
    this.#full = null
  }
}
