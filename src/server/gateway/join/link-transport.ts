import { type ClientHttp2Session, connect } from 'node:http2'
import { Unreachable } from '../../../lib/mcp/bridge/bridge-errors.ts'
import type { Link } from '../../join/link.ts'
import type { InstanceAnswer, InstanceRequest } from '../relay/transport.ts'

/** Bytes of one answer on their way to a reader who does not take them. */
const windowBytes = 256 * 1024

/** Requests to an instance over the link that it opened: HTTP/2, whose client is the gateway. */
export class LinkTransport {
  readonly #session: ClientHttp2Session

  constructor(link: Link) {
    // Before Node's own listener, which would end answers as if they were complete.
    link.once('close', () => this.#session.destroy(new Unreachable(cutReason)))
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
      if (this.#session.destroyed || this.#session.closed) throw new Unreachable(cutReason)
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
      const stream = this.#session.request(
        { ...headers, ...length, ':method': method, ':path': path },
        { endStream: body === undefined },
      )
      const abort = (): void => void stream.destroy(signal.reason)
      signal.addEventListener('abort', abort)
      stream.once('response', answer => {
        resolve({ status: answer[':status'] ?? 0, headers: answer, body: stream })
      })
      stream.on('error', error => {
        reject(error instanceof Unreachable || signal.aborted ? error : new Unreachable(cutReason))
      })
      stream.once('close', () => signal.removeEventListener('abort', abort))
      if (body !== undefined) stream.end(body)
    })
  }
}

const cutReason = 'the link was cut'
