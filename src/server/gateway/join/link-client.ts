import type { GatewayLimits } from '../limits.ts'
import { maxJoinHeaderBytes, maxJoinMemoryBytes } from '../../join/link-server.ts'
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import { type Duplex, Readable } from 'node:stream'
import { Unreachable } from '../../../lib/mcp/bridge/bridge-errors.ts'
import type { HttpAnswer, HttpAsk, HttpAsker } from '../../../lib/mcp/bridge/http-link.ts'
import { maxTimerMs, type Timer } from '../../../lib/util/time.ts'
import type { InstanceAnswer, InstanceRequest, InstanceTransport } from '../relay/transport.ts'

/** The MCP endpoint of an instance on its link. The host is never resolved. */
export const linkUrl = new URL('http://instance/mcp')
const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_NO_ERROR } = constants

/** Requests to an instance over the link that it opened: HTTP/2, whose client is the gateway. */
export class LinkClient implements HttpAsker, InstanceTransport {
  readonly #link: Duplex
  readonly #session: ClientHttp2Session
  readonly #timer: Timer

  /** Create it in the event in which the link opens (see `LinkSocket`). */
  constructor(link: Duplex, limits: GatewayLimits, timer: Timer) {
    this.#link = link
    this.#timer = timer
    this.#session = connect(linkUrl.origin, {
      createConnection: () => link,
      settings: {
        enablePush: false,
        initialWindowSize: limits.joinWindowBytes,
        maxHeaderListSize: maxJoinHeaderBytes,
      },
      maxHeaderListPairs: 64,
      maxSessionMemory: Math.ceil(maxJoinMemoryBytes / 1e6),
    })
    // `LinkSocket` reports the end of the link, and each stream its own.
    this.#session.on('error', () => {})
    // A session that is ending takes no request any more, but waits for its last stream.
    for (const event of ['goaway', 'close']) this.#session.once(event, () => link.destroy())
    // The window of the whole link: with the default, a latency of 20 ms would slow one answer down.
    this.#session.on('connect', () => this.#session.setLocalWindowSize(8 * limits.joinWindowBytes))
  }

  async ask({ url, method, headers, body, answerMs, signal }: HttpAsk): Promise<HttpAnswer> {
    signal.throwIfAborted()
    const stream = this.#request(url, method, headers, body)
    return new Promise((resolve, reject) => {
      const cancelAnswer = this.#timer.after(answerMs, () => fail(new Unreachable(notAnswering)))
      const fail = (reason: unknown): void => {
        cancelAnswer()
        reject(reason)
        cancel(stream)
      }
      const aborted = () => fail(signal.reason)
      signal.addEventListener('abort', aborted)
      stream.once('response', answer => {
        cancelAnswer()
        resolve(new LinkAnswer(stream, answer[':status'] ?? 0, answer))
      })
      stream.on('error', () => {})
      stream.once('close', () => {
        signal.removeEventListener('abort', aborted)
        fail(new Unreachable(cutReason))
      })
    })
  }

  async send(
    { method, path, ...request }: InstanceRequest,
    signal: AbortSignal,
  ): Promise<InstanceAnswer> {
    const url = new URL(path, linkUrl)
    const asked = { url, method: method as HttpAsk['method'], repeatable: true, signal }
    const answer = await this.ask({ ...request, ...asked, answerMs: maxTimerMs })
    return { status: answer.statusCode ?? 0, headers: answer.headers, body: answer }
  }

  /** Whoever accepted the link ends it. */
  close(): void {}

  #request(
    { pathname, search }: URL,
    method: string,
    headers: Record<string, string>,
    body: Buffer | string | undefined,
  ): ClientHttp2Stream {
    if (this.#session.destroyed || this.#session.closed) throw new Unreachable(cutReason)
    const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) }
    const stream = this.#session.request(
      { ...headers, ...length, ':method': method, ':path': pathname + search },
      { endStream: body === undefined },
    )
    // The memory of the instance's session is full: Node never releases what cancelled answers held
    // there, and a new link starts empty.
    stream.once('close', () => {
      if (stream.rstCode === NGHTTP2_ENHANCE_YOUR_CALM) this.#link.destroy()
    })
    if (body !== undefined) stream.end(body)
    return stream
  }
}

const cutReason = 'the link was cut'
const notAnswering = 'it does not answer'

/** A stream that is paused would not close by itself. */
function cancel(stream: ClientHttp2Stream): void {
  stream.close(NGHTTP2_CANCEL)
  stream.destroy()
}

/** An answer that fails when it is cut: Node ends its stream like that of a complete one. */
class LinkAnswer extends Readable implements HttpAnswer {
  readonly statusCode: number
  readonly headers: HttpAnswer['headers']
  readonly #stream: ClientHttp2Stream

  constructor(stream: ClientHttp2Stream, statusCode: number, headers: HttpAnswer['headers']) {
    super()
    this.statusCode = statusCode
    this.headers = headers
    this.#stream = stream
    stream.on('data', chunk => {
      if (!this.push(chunk)) stream.pause()
    })
    stream.once('close', () => {
      if (stream.rstCode === NGHTTP2_NO_ERROR && stream.readableEnded) this.push(null)
      else this.destroy(new Unreachable(cutReason))
    })
    stream.pause()
    // It may be cut before its reader has begun, which then gets the error.
    this.on('error', () => {})
  }

  override _read(): void {
    this.#stream.resume()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    cancel(this.#stream)
    done(error)
  }
}
