import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import { Readable } from 'node:stream'
import { Unreachable } from '../../../lib/mcp/bridge/bridge-errors.ts'
import type { Link } from '../../join/link.ts'
import type { InstanceAnswer, InstanceRequest } from '../relay/transport.ts'

/** Bytes of one answer on their way to a reader who does not take them. */
const windowBytes = 256 * 1024

/** Requests to an instance over the link that it opened: HTTP/2, whose client is the gateway. */
export class LinkTransport {
  readonly #session: ClientHttp2Session

  constructor(link: Link) {
    // The host is never resolved.
    this.#session = connect('http://instance', {
      createConnection: () => link,
      settings: { enablePush: false, initialWindowSize: windowBytes },
    })
    // `Link` reports the end of the link, and each stream its own.
    this.#session.on('error', () => {})
    this.#session.once('close', () => link.destroy())
    // The window of the whole link: with the default, a latency of 20 ms would slow one answer down.
    this.#session.on('connect', () => this.#session.setLocalWindowSize(8 * windowBytes))
  }

  send({ method, path, headers, body }: InstanceRequest, signal: AbortSignal) {
    return new Promise<InstanceAnswer>((resolve, reject) => {
      signal.throwIfAborted()
      if (this.#session.destroyed || this.#session.closed) throw cut()
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
      const stream = this.#session.request(
        { ...headers, ...length, ':method': method, ':path': path },
        { endStream: body === undefined },
      )
      const abort = (): void => void stream.destroy()
      signal.addEventListener('abort', abort)
      stream.once('response', answer => {
        resolve({ status: answer[':status'] ?? 0, headers: answer, body: bodyOf(stream, signal) })
      })
      // The close says it all.
      stream.on('error', () => {})
      stream.once('close', () => {
        signal.removeEventListener('abort', abort)
        reject(signal.aborted ? signal.reason : cut())
      })
      if (body !== undefined) stream.end(body)
    })
  }
}

/**
 * The body of an answer. Node ends its own stream also when the answer is cut, and `pipeline` takes
 * that stream for cut when the last byte has arrived before the first was read.
 */
function bodyOf(stream: ClientHttp2Stream, signal: AbortSignal): Readable {
  const body = new Readable({
    read: () => void stream.resume(),
    destroy(error, done) {
      stream.destroy()
      done(error)
    },
  })
  stream.on('data', chunk => {
    if (!body.push(chunk)) stream.pause()
  })
  stream.once('close', () => {
    if (stream.rstCode === constants.NGHTTP2_NO_ERROR && stream.readableEnded) body.push(null)
    else body.destroy(signal.aborted ? signal.reason : cut())
  })
  stream.pause()
  // It may be cut before its reader has begun, which then gets the error.
  body.on('error', () => {})
  return body
}

function cut(): Unreachable {
  return new Unreachable('the link was cut')
}
