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
import type { Limits } from '../../lib/config/limits.ts'
import { stallTimeoutMs } from '../http/listen.ts'

type LinkServerLimits = Pick<
  Limits,
  | 'maxJoinStreams'
  | 'maxJoinHeaderBytes'
  | 'maxJoinMemoryBytes'
  | 'streamStallMs'
  | 'streamKeepAliveMs'
>

/** A request of a link, for code that was written for HTTP/1. */
class LinkRequest extends Http2ServerRequest {}

/** An answer on a link, likewise. */
class LinkResponse extends Http2ServerResponse<LinkRequest> {
  /** Resets the stream, so that the reader does not take a part for the whole answer. */
  override destroy(): this {
    this.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    return this
  }

  override writeHead(status: number, ...rest: unknown[]): this {
    const headers = Object.entries((rest[0] ?? {}) as OutgoingHttpHeaders)
    // Belongs to HTTP/1: Node warns about it.
    const kept = headers.filter(([name]) => name.toLowerCase() !== 'connection')
    return super.writeHead(status, Object.fromEntries(kept))
  }
}

/** The socket of Node is that of the whole link, refuses writes, and throws once the link has ended. */
const socket = {
  get(this: { readonly stream: ServerHttp2Stream }) {
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

/**
 * Answers the requests that a gateway sends over links with a listener for HTTP/1. Returns a
 * function that starts on one link.
 */
export function createLinkServer(
  listener: RequestListener,
  limits: LinkServerLimits,
): (link: Duplex) => void {
  const server = createServer(
    {
      settings: {
        maxConcurrentStreams: limits.maxJoinStreams,
        maxHeaderListSize: limits.maxJoinHeaderBytes,
      },
      maxSessionMemory: Math.ceil(limits.maxJoinMemoryBytes / 1e6),
      Http2ServerRequest: LinkRequest,
      Http2ServerResponse: LinkResponse,
    },
    (req, res) => {
      // A stalled reader would hold its answer for ever.
      req.stream.setTimeout(stallTimeoutMs(limits), () => void res.destroy())
      listener(req as unknown as IncomingMessage, res as unknown as ServerResponse)
    },
  )
  return link => void server.emit('connection', link)
}
