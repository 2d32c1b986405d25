import type { Writable } from 'node:stream'
import type { Timer } from '../../util/time.ts'

const newline = Buffer.from('\n')

/**
 * Writes one message a line to a client that may read slowly. Each message is written after the
 * client has read the previous ones; awaiting `send` gives backpressure.
 */
export class Output {
  /** Settles when the client closed the stream. */
  readonly closed: Promise<void>
  readonly #stream: Writable
  #tail: Promise<void> = Promise.resolve()
  #waiting = 0
  #isClosed = false
  /** Resolves the write that waits for the stream to drain. */
  #taken = (): void => {}

  constructor(stream: Writable) {
    this.#stream = stream
    this.closed = new Promise(resolve => {
      const end = (): void => {
        this.#isClosed = true
        this.#taken()
        resolve()
      }
      stream.on('error', end)
      stream.once('close', end)
    })
    stream.on('drain', () => this.#taken())
  }

  /** Messages that the client has not read. */
  get waiting(): number {
    return this.#waiting
  }

  /**
   * Resolves when the stream can take more, or is closed. Drops the message when `wanted` returns
   * false at its turn.
   */
  send(message: Buffer, wanted: () => boolean = () => true): Promise<void> {
    this.#waiting++
    this.#tail = this.#tail.then(async () => {
      if (!this.#isClosed && wanted()) await this.#write(message)
      this.#waiting--
    })
    return this.#tail
  }

  /** Resolves when all messages sent so far are written. */
  settled(): Promise<void> {
    return this.#tail
  }

  /** Waits up to `waitMs` for the client to read the rest, then closes. */
  async end(timer: Timer, waitMs: number): Promise<void> {
    let cancel = (): void => {}
    const late = new Promise<void>(resolve => {
      cancel = timer.after(waitMs, resolve)
    })
    const flushed = this.#tail.then(
      () => new Promise<void>(resolve => this.#stream.write('', () => resolve())),
    )
    await Promise.race([flushed, late, this.closed])
    cancel()
    this.#isClosed = true
    if (this.#stream.writableLength > 0) this.#stream.destroy()
  }

  #write(message: Buffer): Promise<void> | void {
    this.#stream.write(Buffer.concat([message, newline]))
    if (!this.#stream.writableNeedDrain) return
    return new Promise(resolve => {
      this.#taken = resolve
    })
  }
}
