import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { closeCodes, type ServerMessage } from '../../../lib/host-link/wire.ts'
import { messageOf } from '../../../lib/util/errors.ts'
import type { HostLimits } from '../limits.ts'
import { type Frame, readFrame } from './frame.ts'

type ChannelLimits = Pick<HostLimits, 'linkPingMs' | 'linkSilenceMs' | 'maxLinkBacklogBytes'>

/** Receives what arrives on a channel. Must not throw. */
export interface ChannelReader {
  message(frame: Frame): void
  bytes(bytes: Buffer): void
  /** Once, however the channel ended. `code` is the WebSocket close code, 1006 for a cut. */
  closed(code: number): void
}

/** An answer of the server to a message of the application. */
interface Answer {
  readonly type: 'ok' | 'error'
  readonly id?: string
  readonly [member: string]: unknown
}

/**
 * One WebSocket: pings the application, cuts it when it falls silent, and closes it when it does not
 * read.
 */
export class Channel {
  /** It is a web page: see `refusedFromPages`. */
  readonly isPage: boolean
  readonly #ws: WebSocket
  readonly #socket: Socket
  readonly #limits: ChannelLimits
  #reader: ChannelReader
  /** As seen at the last ping. */
  #bytesRead: number
  /** Nothing arrived for at least so long. */
  #silentMs = 0
  /** The application said that it may be silent for so much longer. */
  #allowedMs = 0

  constructor(
    ws: WebSocket,
    socket: Socket,
    parts: { limits: ChannelLimits; reader: ChannelReader; isPage: boolean },
  ) {
    const { limits, reader, isPage } = parts
    this.isPage = isPage
    this.#ws = ws
    this.#socket = socket
    this.#limits = limits
    this.#reader = reader
    this.#bytesRead = socket.bytesRead
    const pinging = setInterval(() => this.#ping(), limits.linkPingMs).unref()
    ws.on('message', (data, isBinary) => this.#arrived(data as Buffer, isBinary))
    ws.once('close', code => {
      clearInterval(pinging)
      this.#reader.closed(code)
    })
    // Protocol errors and oversize messages: the library closes by itself, with the right code.
    ws.on('error', () => {})
  }

  /** From now on another one hears what arrives: the application has said hello. */
  setReader(reader: ChannelReader): void {
    this.#reader = reader
  }

  /** False when the channel is not open any more, or had to be closed for what waits on it. */
  send(message: ServerMessage | Answer): boolean {
    if (this.#ws.readyState !== this.#ws.OPEN) return false
    this.#ws.send(JSON.stringify(message))
    if (this.#ws.bufferedAmount <= this.#limits.maxLinkBacklogBytes) return true
    this.close(closeCodes.overloaded, 'the answers are not taken')
    return false
  }

  /** Until the next heartbeat. */
  allowSilence(ms: number): void {
    this.#allowedMs = ms
  }

  close(code: number, reason: string): void {
    // A longer reason would be an error instead of a close (RFC 6455, section 5.5).
    const bytes = Buffer.from(reason).subarray(0, 123)
    this.#ws.close(code, bytes.toString('utf8').replace(/\ufffd+$/, ''))
  }

  /** Ends it at once, without a close code. */
  cut(): void {
    this.#ws.terminate()
  }

  /** Reads nothing more: what the application sends then waits there. */
  pause(): void {
    this.#ws.pause()
  }

  resume(): void {
    this.#ws.resume()
  }

  #arrived(bytes: Buffer, isBinary: boolean): void {
    // Frames that follow our own close frame are ignored.
    if (this.#ws.readyState !== this.#ws.OPEN) return
    if (isBinary) return this.#reader.bytes(bytes)
    let frame: Frame
    try {
      frame = readFrame(bytes.toString('utf8'))
    } catch (error) {
      return this.close(closeCodes.badMessage, `a message ${messageOf(error)}`)
    }
    this.#reader.message(frame)
  }

  #ping(): void {
    const { linkPingMs, linkSilenceMs } = this.#limits
    const { bytesRead } = this.#socket
    // Any byte counts, also of a large message on its way; while nothing is read, none can come.
    const isSilent = bytesRead === this.#bytesRead && !this.#ws.isPaused
    this.#bytesRead = bytesRead
    // Counted by pings, not by the clock: a machine that slept has not listened meanwhile.
    this.#silentMs = isSilent ? this.#silentMs + linkPingMs : 0
    if (this.#silentMs >= linkSilenceMs + this.#allowedMs) this.#ws.terminate()
    else if (this.#ws.readyState === this.#ws.OPEN) this.#ws.ping()
  }
}
