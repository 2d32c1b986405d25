import type {
  IncomingMessage,
  OutgoingHttpHeaders,
  RequestListener,
  ServerResponse,
} from 'node:http'
import {
  constants,
  createServer,
  Http2ServerRequest,
  Http2ServerResponse,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Duplex } from 'node:stream'

/** Requests that one link carries at once; further ones are refused. */
const maxJoinStreams = 1024

/** A request on a link, for a listener for HTTP/1. */
class LinkRequest extends Http2ServerRequest {}

/** An answer on a link, likewise. */
class LinkResponse extends Http2ServerResponse<LinkRequest> {
  /** Resets the stream, so that the reader does not take a part for the whole answer. */
  override destroy(): this {
    this.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    return this
  }

  override writeHead(status: number, ...rest: unknown[]): this {
    // Node warns about this header of HTTP/1.
    const { Connection: _, connection: __, ...headers } = (rest[0] ?? {}) as OutgoingHttpHeaders
    return super.writeHead(status, headers)
  }
}

/** Node's own `socket` is that of the whole link: it refuses writes, and throws after the end. */
const socket = {
  get(this: { stream: ServerHttp2Stream }) {
    return this.stream
  },
}
Object.defineProperty(LinkRequest.prototype, 'socket', socket)
Object.defineProperties(LinkResponse.prototype, {
  socket,
  destroyed: {
    get(this: LinkResponse) {
      return this.stream.destroyed || this.stream.closed
    },
  },
})

/** Answers the requests that a gateway sends over the link with a listener for HTTP/1. */
export function serveOnLink(link: Duplex, listener: RequestListener): void {
  const options = {
    settings: { maxConcurrentStreams: maxJoinStreams },
    // Without a bound: Node goes on counting what cancelled answers held, and refuses all requests
    // in the end. The windows of the gateway bound what is held.
    maxSessionMemory: 1e6,
    Http2ServerRequest: LinkRequest,
    Http2ServerResponse: LinkResponse,
  }
  const server = createServer(options, (req, res) => {
    listener(req as unknown as IncomingMessage, res as unknown as ServerResponse)
  })
  server.emit('connection', link)
}
