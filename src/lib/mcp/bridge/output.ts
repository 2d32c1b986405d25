import type { Writable } from 'node:stream'
import type { Timer } from '../../util/time.ts'

const newline = Buffer.from('\n')

/**
 * One message a line, for a client that may read slowly: each is handed to the stream when the
 * ones before it have been taken, so that whoever waits for its own holds nothing further.
 */
export class Output {
  /** Settles when the client reads no more. */
  readonly closed: Promise<void>
  readonly #stream: Writable
  #tail: Promise<void> = Promise.resolve()
  #waiting = 0
  #isClosed = false
  /** Of the one message that the stream has no room behind. */
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

  /** Messages that the client has not taken. */
  get waiting(): number {
    return this.#waiting
  }

  /**
   * Resolves when the client has room for more; also when there is no client. A message that is
   * not wanted any more when its turn comes is left out.
   */
  send(message: Buffer, wanted: () => boolean = () => true): Promise<void> {
    this.#waiting++
    this.#tail = this.#tail.then(async () => {
      if (!this.#isClosed && wanted()) await this.#write(message)
      this.#waiting--
    })
    return this.#tail
  }

  /** Resolves when everything sent so far has been taken. */
  settled(): Promise<void> {
    return this.#tail
  }

  /** Gives the client a last time to read; then what it has not taken is given up. */
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
