import { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'

/** HTTP/2 frames that are sent together become messages of about this size. */
const messageBytes = 64 * 1024

/**
 * The bytes of a WebSocket, for HTTP/2. It closes without an end: Node aborts when HTTP/2 has
 * something to write after the end of a stream that is no socket.
 */
export class LinkStream extends Duplex {
  readonly #ws: WebSocket

  constructor(ws: WebSocket) {
    super()
    this.#ws = ws
    ws.on('message', data => {
      if (!this.destroyed && !this.push(data)) ws.pause()
    })
    ws.once('close', () => this.destroy())
    // `LinkSocket` reports the end.
    this.on('error', () => {})
  }

  override _read(): void {
    if (this.#ws.isPaused) this.#ws.resume()
  }

  override _write(chunk: Buffer, _encoding: unknown, done: (error?: Error | null) => void): void {
    this.#send(chunk, done)
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    let message: Buffer[] = []
    let bytes = 0
    for (const { chunk } of chunks) {
      if (bytes > 0 && bytes + chunk.length > messageBytes) {
        this.#send(Buffer.concat(message))
        message = []
        bytes = 0
      }
      message.push(chunk)
      bytes += chunk.length
    }
    this.#send(Buffer.concat(message), done)
  }

  /** Drops what comes after a close: a failure would cut off the reason of the close. */
  #send(message: Buffer, done?: (error?: Error | null) => void): void {
    if (this.#ws.readyState === this.#ws.OPEN) this.#ws.send(message, done)
    else done?.()
  }

  /** HTTP/2 has ended, and with it the link. */
  override _final(done: () => void): void {
    done()
    this.destroy()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (this.#ws.readyState === this.#ws.OPEN) this.#ws.terminate()
    // The reason of the other end may still be on its way.
    else if (this.#ws.isPaused) this.#ws.resume()
    done(error)
  }
}
