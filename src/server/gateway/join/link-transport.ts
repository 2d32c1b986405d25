import { type ClientHttp2Session, connect, constants } from 'node:http2'
import { Unreachable } from '../../../lib/mcp/bridge/bridge-errors.ts'
import { onAbort } from '../../../lib/util/abort.ts'
import type { Link } from '../../join/link.ts'
import { AnswerBody } from '../relay/answer-body.ts'
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

  send({ method, path, headers, body: sent }: InstanceRequest, signal: AbortSignal) {
    return new Promise<InstanceAnswer>((resolve, reject) => {
      signal.throwIfAborted()
      if (this.#session.destroyed || this.#session.closed) throw cut()
      const length = sent === undefined ? {} : { 'content-length': Buffer.byteLength(sent) }
      const stream = this.#session.request(
        { ...headers, ...length, ':method': method, ':path': path },
        { endStream: sent === undefined },
      )
      let hasBegun = false
      let isCancelled = false
      const abort = (): void => {
        isCancelled = true
        stream.destroy()
      }
      const body = new AnswerBody({
        pause: () => stream.pause(),
        resume: () => stream.resume(),
        abort,
      })
      const release = onAbort(signal, abort)
      stream.once('response', answer => {
        hasBegun = true
        resolve({ status: answer[':status'] ?? 0, headers: answer, body })
      })
      stream.on('data', (chunk: Buffer) => body.push(chunk))
      // The close says it all.
      stream.on('error', () => {})
      stream.once('close', () => {
        release()
        // V8 keeps streams of a session for long, because Node has them in a map.
        stream.removeAllListeners()
        // Node ends its own stream also when the answer is cut.
        const isEnded = stream.rstCode === constants.NGHTTP2_NO_ERROR && stream.readableEnded
        if (isEnded && hasBegun && !isCancelled) return body.end(null)
        const error = signal.aborted ? signal.reason : cut()
        reject(error)
        body.end(error)
      })
      if (sent !== undefined) stream.end(sent)
    })
  }
}

function cut(): Unreachable {
  return new Unreachable('the link was cut')
}
