import type { Socket } from 'node:net'
import type { RawData, WebSocket } from 'ws'
import { closeCodes } from '../../../lib/host-link/wire.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Limits } from '../../options.ts'

export type ChannelLimits = Pick<Limits, 'linkPingMs' | 'linkSilenceMs' | 'maxLinkBacklogBytes'>

/** Who hears of what arrives. Must not throw. */
export interface ChannelReader {
  text(text: string): void
  bytes(bytes: Buffer): void
  /** Once, however the channel ended. `code` is the WebSocket close code, 1006 for a cut. */
  closed(code: number): void
}

/** The close frame has room for so many bytes of reason. */
const maxReasonBytes = 123

/**
 * One WebSocket with a life of its own: pings, cuts what fell silent, closes towards a peer that
 * takes nothing.
 */
export class Channel {
  readonly #ws: WebSocket
  readonly #socket: Socket
  readonly #limits: ChannelLimits
  readonly #ticks: Clock
  readonly #pinging: NodeJS.Timeout
  #reader: ChannelReader
  #lastArrivalMs: number
  #lastBytesRead = 0

  constructor(
    ws: WebSocket,
    socket: Socket,
    { limits, ticks, reader }: { limits: ChannelLimits; ticks: Clock; reader: ChannelReader },
  ) {
    this.#ws = ws
    this.#socket = socket
    this.#limits = limits
    this.#ticks = ticks
    this.#reader = reader
    this.#lastArrivalMs = ticks.now()
    this.#pinging = setInterval(() => this.#look(), limits.linkPingMs)
    this.#pinging.unref()
    ws.on('message', (data, isBinary) => this.#arrived(data, isBinary))
    ws.on('pong', () => (this.#lastArrivalMs = ticks.now()))
    ws.once('close', code => {
      clearInterval(this.#pinging)
      this.#reader.closed(code)
    })
    // Protocol errors and oversize messages: the library closes by itself, with the right code.
    ws.on('error', () => {})
  }

  /** From now on another one hears what arrives: the link has said hello. */
  handTo(reader: ChannelReader): void {
    this.#reader = reader
  }

  get isOpen(): boolean {
    return this.#ws.readyState === this.#ws.OPEN
  }

  /** False when the channel is not open any more, or just had to be closed. */
  send(message: object): boolean {
    if (!this.isOpen) return false
    this.#ws.send(JSON.stringify(message))
    if (this.#ws.bufferedAmount <= this.#limits.maxLinkBacklogBytes) return true
    this.close(closeCodes.overloaded, 'the answers are not taken')
    return false
  }

  close(code: number, reason: string): void {
    this.#ws.close(code, fitting(reason))
  }

  cut(): void {
    this.#ws.terminate()
  }

  /** Reads nothing more: what the peer sends then waits at the peer. */
  pause(): void {
    this.#ws.pause()
  }

  resume(): void {
    this.#lastArrivalMs = this.#ticks.now()
    this.#ws.resume()
  }

  #arrived(data: RawData, isBinary: boolean): void {
    this.#lastArrivalMs = this.#ticks.now()
    // Frames behind a close of ours are nobody's any more.
    if (!this.isOpen) return
    const bytes = data as Buffer
    if (isBinary) this.#reader.bytes(bytes)
    else this.#reader.text(bytes.toString('utf8'))
  }

  #look(): void {
    const nowMs = this.#ticks.now()
    const { bytesRead } = this.#socket
    // A large message on its way is a sign of life, too; so is one that we do not read.
    if (bytesRead !== this.#lastBytesRead || this.#ws.isPaused) this.#lastArrivalMs = nowMs
    this.#lastBytesRead = bytesRead
    if (nowMs - this.#lastArrivalMs >= this.#limits.linkSilenceMs) this.cut()
    else if (this.isOpen) this.#ws.ping()
  }
}

function fitting(reason: string): string {
  const bytes = Buffer.from(reason)
  if (bytes.length <= maxReasonBytes) return reason
  return `${bytes
    .subarray(0, maxReasonBytes - 3)
    .toString('utf8')
    .replace(/\ufffd+$/, '')}…`
}
