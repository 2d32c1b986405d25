import { once } from 'node:events'
import type { Writable } from 'node:stream'
import type { Logger } from '../../util/logger.ts'
import { pause, systemTimer } from '../../util/time.ts'
import type { Connection } from './connection.ts'

/** What the parts of one bridge share. */
export interface BridgeContext {
  readonly connection: Connection
  readonly output: Output
  readonly log: Logger
}

/** Writes one message a line to a client that may read slowly. */
export class Output {
  /** Aborted when the client has closed the stream. */
  readonly closed: AbortSignal
  readonly #stream: Writable
  /** Pending while the client has not read enough. */
  #drained: Promise<unknown> | null = null

  constructor(stream: Writable) {
    const closed = new AbortController()
    this.closed = closed.signal
    this.#stream = stream
    stream.on('error', () => closed.abort())
    stream.once('close', () => closed.abort())
  }

  /** Resolves when the client can take more, or has closed the stream. */
  async send(line: string): Promise<void> {
    if (this.closed.aborted || this.#stream.write(`${line}\n`)) return
    this.#drained ??= once(this.#stream, 'drain', { signal: this.closed })
      .catch(() => {})
      .finally(() => (this.#drained = null))
    await this.#drained
  }

  /** Waits up to `waitMs` for the client to read the rest. */
  flush(waitMs: number): Promise<void> {
    const flushed = new AbortController()
    this.#stream.write('', () => flushed.abort())
    return pause(systemTimer, waitMs, AbortSignal.any([flushed.signal, this.closed]))
  }
}
