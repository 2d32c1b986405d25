import { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { maxJoinMessageBytes } from '../../lib/instances/join-wire.ts'
import { cleanText } from '../../lib/util/text.ts'

/** How a link ended. */
export interface LinkEnd {
  /** WebSocket close code of the other end; 1006 for a cut. */
  code: number
  /** As a clause. */
  reason: string
}

/** Longest wait for the other end to answer a close. */
const closeMs = 3000
/** What a close message has room for. */
const maxReasonBytes = 123

/**
 * One end of a link. The stream has the bytes of HTTP/2, which are the binary messages of the
 * WebSocket; text messages pass beside them. Create it in the event in which the WebSocket opens,
 * so that no message is missed.
 *
 * The stream closes without an end: Node aborts when HTTP/2 has something to write after the end of
 * a stream that is no socket.
 */
export class Link extends Duplex {
  /** Resolves before the stream closes. */
  readonly ended: Promise<LinkEnd>
  readonly #ws: WebSocket
  #cause: string | null = null

  /**
   * `received` gets each text message. Each end pings the other every `pingMs`, and cuts the link
   * when nothing came between three pings.
   */
  constructor(ws: WebSocket, received: (text: string) => void, pingMs = 10_000) {
    super()
    this.#ws = ws
    // Counted in pings, not by the clock: a suspended machine did not listen.
    let unanswered = 0
    const pings = setInterval(() => {
      if (unanswered++ < 2) return ws.ping()
      this.#cause ??= `nothing came for ${(2 * pingMs) / 1000} s`
      ws.terminate()
    }, pingMs).unref()
    for (const event of ['message', 'ping', 'pong']) ws.on(event, () => (unanswered = 0))
    ws.on('message', (data: Buffer, isBinary) => {
      if (!isBinary) received(data.toString())
      else if (!this.destroyed && !this.push(data)) ws.pause()
    })
    ws.on('error', error => (this.#cause ??= cleanText(error.message)))
    this.ended = new Promise(resolve => {
      ws.once('close', (code, reason) => {
        clearInterval(pings)
        const text = cleanText(reason.toString())
        resolve({ code, reason: this.#cause ?? (text || 'the connection was cut') })
        this.destroy()
      })
    })
    // `ended` reports the end.
    this.on('error', () => {})
  }

  sendText(text: string): void {
    this.#ws.send(text, () => {})
  }

  /** Sends the reason, and ends the link when the other end does not answer. */
  close(code: number, reason: string): void {
    this.#cause ??= reason
    const sent = Buffer.alloc(maxReasonBytes)
    const { written } = new TextEncoder().encodeInto(reason, sent)
    this.#ws.close(code, sent.subarray(0, written))
    setTimeout(() => this.#ws.terminate(), closeMs).unref()
  }

  override _read(): void {
    if (this.#ws.isPaused) this.#ws.resume()
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    // What comes after a close is dropped: a failure would cut off the reason of the close.
    if (this.#ws.readyState !== this.#ws.OPEN) return done()
    const bytes = Buffer.concat(chunks.map(({ chunk }) => chunk))
    let at = 0
    for (; at + maxJoinMessageBytes < bytes.length; at += maxJoinMessageBytes) {
      this.#ws.send(bytes.subarray(at, at + maxJoinMessageBytes))
    }
    this.#ws.send(bytes.subarray(at), done)
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
