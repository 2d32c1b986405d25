import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { closeCodes, type ServerMessage } from '../../../lib/host-link/wire.ts'
import { messageOf } from '../../../lib/util/errors.ts'
import { type Frame, readFrame } from './frame.ts'

/** Times in milliseconds. */
const channelBounds = {
  /** The first message must come within this time. */
  helloMs: 5000,
  pingMs: 10_000,
  /** A channel on which nothing arrived for this long is cut. */
  silenceMs: 30_000,
  /** Messages that the application has not taken before it is closed. */
  maxBacklogBytes: 8 * 1024 * 1024,
}

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
 * One WebSocket: pings the application, cuts it when it falls silent, and closes it when it says no
 * hello or does not read.
 */
export class Channel {
  /** It is a web page: see `refusedFromPages`. */
  readonly isPage: boolean
  readonly #ws: WebSocket
  readonly #socket: Socket
  readonly #bounds: typeof channelBounds
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
    parts: { reader: ChannelReader; isPage: boolean },
    bounds = channelBounds,
  ) {
    const { reader, isPage } = parts
    const { helloMs, pingMs } = bounds
    this.isPage = isPage
    this.#ws = ws
    this.#socket = socket
    this.#bounds = bounds
    this.#reader = reader
    this.#bytesRead = socket.bytesRead
    const pinging = setInterval(() => this.#ping(), pingMs).unref()
    const waiting = setTimeout(() => {
      this.close(closeCodes.badMessage, `no hello came within ${helloMs} ms`)
    }, helloMs).unref()
    ws.once('message', () => clearTimeout(waiting))
    ws.on('message', (data, isBinary) => this.#arrived(data as Buffer, isBinary))
    ws.once('close', code => {
      clearTimeout(waiting)
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
    if (this.#ws.bufferedAmount <= this.#bounds.maxBacklogBytes) return true
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
    const { pingMs, silenceMs } = this.#bounds
    const { bytesRead } = this.#socket
    // Any byte counts, also of a large message on its way; while nothing is read, none can come.
    const isSilent = bytesRead === this.#bytesRead && !this.#ws.isPaused
    this.#bytesRead = bytesRead
    // Counted by pings, not by the clock: a machine that slept has not listened meanwhile.
    this.#silentMs = isSilent ? this.#silentMs + pingMs : 0
    if (this.#silentMs >= silenceMs + this.#allowedMs) this.#ws.terminate()
    else if (this.#ws.readyState === this.#ws.OPEN) this.#ws.ping()
  }
}
