import type { HostLimits } from '../limits.ts'
import type { Socket } from 'node:net'
import type { RawData, WebSocket } from 'ws'
import { closeCodes } from '../../../lib/host-link/wire.ts'

type ChannelLimits = Pick<HostLimits, 'linkPingMs' | 'linkSilenceMs' | 'maxLinkBacklogBytes'>

/** Receives what arrives on a channel. Must not throw. */
export interface ChannelReader {
  text(text: string): void
  bytes(bytes: Buffer): void
  /** Once, however the channel ended. `code` is the WebSocket close code, 1006 for a cut. */
  closed(code: number): void
}

/**
 * One WebSocket: pings the peer, cuts it when it falls silent, and closes also towards a peer that
 * no longer reads.
 */
export class Channel {
  /** It is a web page: see `refusedFromPages`. */
  readonly fromPage: boolean
  readonly #ws: WebSocket
  readonly #socket: Socket
  readonly #limits: ChannelLimits
  readonly #pinging: NodeJS.Timeout
  #reader: ChannelReader
  /** As seen at the last ping. */
  #bytesRead = 0
  /** Nothing arrived for at least so long. */
  #silentMs = 0

  constructor(
    ws: WebSocket,
    socket: Socket,
    {
      limits,
      reader,
      fromPage = false,
    }: { limits: ChannelLimits; reader: ChannelReader; fromPage?: boolean },
  ) {
    this.fromPage = fromPage
    this.#ws = ws
    this.#socket = socket
    this.#limits = limits
    this.#reader = reader
    this.#bytesRead = socket.bytesRead
    this.#pinging = setInterval(() => this.#look(), limits.linkPingMs)
    this.#pinging.unref()
    ws.on('message', (data, isBinary) => this.#arrived(data, isBinary))
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

  /** False when the channel is not open any more, or had to be closed for what waits on it. */
  send(message: object): boolean {
    if (!this.isOpen) return false
    this.#ws.send(JSON.stringify(message))
    if (this.#ws.bufferedAmount <= this.#limits.maxLinkBacklogBytes) return true
    this.close(closeCodes.overloaded, 'the answers are not taken')
    return false
  }

  close(code: number, reason: string): void {
    this.#ws.close(code, fittingReason(reason))
  }

  /** Reads nothing more: what the peer sends then waits at the peer. */
  pause(): void {
    this.#ws.pause()
  }

  resume(): void {
    this.#ws.resume()
  }

  #arrived(data: RawData, isBinary: boolean): void {
    // Frames that follow our own close frame are ignored.
    if (!this.isOpen) return
    const bytes = data as Buffer
    if (isBinary) this.#reader.bytes(bytes)
    else this.#reader.text(bytes.toString('utf8'))
  }

  #look(): void {
    const { linkPingMs, linkSilenceMs } = this.#limits
    const { bytesRead } = this.#socket
    // Any byte counts, also of a large message on its way; while nothing is read, none can come.
    const isSilent = bytesRead === this.#bytesRead && !this.#ws.isPaused
    this.#bytesRead = bytesRead
    // Counted by pings, not by the clock: a machine that slept has not listened meanwhile.
    this.#silentMs = isSilent ? this.#silentMs + linkPingMs : 0
    if (this.#silentMs >= linkSilenceMs) this.#ws.terminate()
    else if (this.isOpen) this.#ws.ping()
  }
}

/** The longest reason of a close frame (RFC 6455, section 5.5, without the code). */
const maxReasonBytes = 123

/** A longer reason would be an error instead of a close. Cut at a character. */
export function fittingReason(reason: string): string {
  const bytes = Buffer.from(reason)
  if (bytes.length <= maxReasonBytes) return reason
  return `${bytes
    .subarray(0, maxReasonBytes - 3)
    .toString('utf8')
    .replace(/\ufffd+$/, '')}…`
}
