import type { JoinLimits } from './limits.ts'
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { cleanText } from '../../lib/util/text.ts'
import { LinkStream } from './link-stream.ts'

/** Bytes of one WebSocket message; HTTP/2 writes frames of 16 KiB. */
export const maxJoinMessageBytes = 1024 * 1024

type LinkTimes = Pick<JoinLimits, 'joinPingMs' | 'joinSilenceMs'>

/** How a link ended. */
export interface LinkEnd {
  /** WebSocket close code of the other end; 1006 for a cut. */
  readonly code: number
  /** As a clause. */
  readonly reason: string
}

/** Longest wait for the other end to answer a close. */
const closeMs = 3000
const maxReasonChars = 120

/**
 * The WebSocket of a link, and the stream for HTTP/2 inside it. Create it in the event in which the
 * WebSocket opens: HTTP/2 fails when its first bytes are missed. Pings the other end, and ends the
 * link when nothing arrives.
 */
export class LinkSocket {
  readonly stream: LinkStream
  readonly ended: Promise<LinkEnd>
  readonly #ws: WebSocket
  readonly #socket: Socket
  readonly #limits: LinkTimes
  readonly #watch: NodeJS.Timeout
  #bytesRead = 0
  /** Time without a byte. */
  #silentMs = 0
  #checks = 0
  #cause: string | null = null

  constructor(ws: WebSocket, socket: Socket, limits: LinkTimes) {
    this.#ws = ws
    this.#socket = socket
    this.#limits = limits
    // Twice as often as pings, so that silence is noticed in time.
    this.#watch = setInterval(() => this.#check(), limits.joinPingMs / 2).unref()
    ws.on('error', error => (this.#cause ??= cleanText(error.message, maxReasonChars)))
    this.ended = new Promise(resolve => {
      ws.once('close', (code, reason) => {
        clearInterval(this.#watch)
        const said = cleanText(reason.toString(), maxReasonChars)
        resolve({ code, reason: this.#cause ?? (said || 'the connection was cut') })
      })
    })
    this.stream = new LinkStream(ws)
  }

  /** Sends the reason, and ends the link when the other end does not answer. */
  close(code: number, reason: string): void {
    this.#cause ??= reason
    this.#ws.close(code, reason)
    setTimeout(() => this.#ws.terminate(), closeMs).unref()
  }

  #check(): void {
    const { joinPingMs, joinSilenceMs } = this.#limits
    const { bytesRead } = this.#socket
    // Counted in checks, not by the clock: a suspended machine did not listen.
    this.#silentMs = bytesRead === this.#bytesRead ? this.#silentMs + joinPingMs / 2 : 0
    this.#bytesRead = bytesRead
    if (this.#silentMs >= joinSilenceMs) {
      this.#cause ??= `nothing came for ${joinSilenceMs / 1000} s`
      this.#ws.terminate()
    } else if (this.#checks++ % 2 === 1 && this.#ws.readyState === this.#ws.OPEN) this.#ws.ping()
  }
}
