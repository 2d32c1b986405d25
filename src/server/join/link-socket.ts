import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { LinkStream } from './link-stream.ts'
import { cleanText } from '../../lib/util/text.ts'
import type { JoinLimits } from '../../lib/config/join-limits.ts'

type LinkTimes = Pick<JoinLimits, 'joinPingMs' | 'joinSilenceMs'>

/** How a link ended. */
export interface LinkEnd {
  /** WebSocket close code of the other end; 1006 for a cut. */
  readonly code: number
  /** A few words for people. */
  readonly reason: string
}

/** Time for the other end to answer a close. */
const closeMs = 1000
const maxReasonChars = 120

/**
 * The WebSocket of a link, and the stream in it that HTTP/2 runs on. To be made in the very event in
 * which the WebSocket opens: HTTP/2 fails when its first bytes are missed. Pings the other end, and
 * cuts it off when nothing comes.
 */
export class LinkSocket {
  readonly stream: LinkStream
  readonly ended: Promise<LinkEnd>
  readonly #ws: WebSocket
  readonly #socket: Socket
  readonly #limits: LinkTimes
  readonly #looking: NodeJS.Timeout
  #bytesRead = 0
  /** Nothing came for so long. */
  #silentMs = 0
  #looks = 0
  #cause: string | null = null

  constructor(ws: WebSocket, socket: Socket, limits: LinkTimes) {
    this.#ws = ws
    this.#socket = socket
    this.#limits = limits
    // Pings alone would be seen too late: silence is looked for twice as often.
    this.#looking = setInterval(() => this.#look(), limits.joinPingMs / 2)
    this.#looking.unref()
    ws.on('error', error => (this.#cause ??= cleanText(error.message, maxReasonChars)))
    this.ended = new Promise(resolve => {
      ws.once('close', (code, reason) => {
        clearInterval(this.#looking)
        const said = cleanText(reason.toString(), maxReasonChars)
        resolve({ code, reason: this.#cause ?? (said || 'the connection was cut') })
      })
    })
    this.stream = new LinkStream(ws)
  }

  /** Tells the other end why, and cuts it off when it does not answer. */
  close(code: number, reason: string): void {
    this.#cause ??= reason
    this.#ws.close(code, reason)
    setTimeout(() => this.#ws.terminate(), closeMs).unref()
  }

  #look(): void {
    const { joinPingMs, joinSilenceMs } = this.#limits
    const { bytesRead } = this.#socket
    // Counted by looks, not by the clock: a machine that slept has not listened meanwhile.
    this.#silentMs = bytesRead === this.#bytesRead ? this.#silentMs + joinPingMs / 2 : 0
    this.#bytesRead = bytesRead
    if (this.#silentMs >= joinSilenceMs) {
      this.#cause ??= `nothing came for ${joinSilenceMs / 1000} s`
      this.#ws.terminate()
    } else if (this.#looks++ % 2 === 1 && this.#ws.readyState === this.#ws.OPEN) this.#ws.ping()
  }
}
