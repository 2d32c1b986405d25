import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { type HttpLimits, stallTimeoutMs } from './limits.ts'
import { baseUrlOf, type ListenOptions } from './listen-options.ts'
import { makeProblem, type Problem } from './problem.ts'
import { followPair, readPair, type TlsPair } from './tls.ts'
import { refuseUpgrade, type Upgrades } from './upgrade.ts'

/** Bytes of the header block of a request. */
const maxHeaderBytes = 16 * 1024
/** Idle keep-alive connections are closed after this. */
const keepAliveTimeoutMs = 30_000
/** The TLS handshake must be complete after this. */
const tlsHandshakeMs = 10_000
/** Connections open at once; further ones are closed at once. */
const maxConnections = 16_384
/** Pipelined requests that wait for their turn; a connection with more is closed. */
const maxWaitingRequests = 64

/** What answers the requests of a server. */
export interface Handlers {
  listener: RequestListener
  /** Requests that ask to leave HTTP. */
  upgrades?: Upgrades
  /** A request that is not complete after this gets 408. Default: a large body may take its time. */
  requestTimeoutMs?: number
}

interface SocketParts {
  limits: HttpLimits
  log: Logger
}

/** What of a connection has not been answered. */
interface Connection {
  /** Answers that have not left yet. */
  unanswered: number
  newest: ServerResponse | null
}

/** The listening socket of a server, with its certificate. */
export class ServerSocket {
  readonly #where: ListenOptions
  readonly #parts: SocketParts
  readonly #pair: TlsPair | undefined
  readonly #connections = new Map<Socket, Connection>()
  /** Beside those of `#connections`: TLS handshakes that are not complete. */
  readonly #sockets = new Set<Socket>()
  #server: Server | null = null
  #unfollow = () => {}
  #stopped: Promise<void> | null = null

  private constructor(where: ListenOptions, parts: SocketParts, pair: TlsPair | undefined) {
    this.#where = where
    this.#parts = parts
    this.#pair = pair
  }

  /** Reads the certificate. Throws `config_invalid` when it cannot be used. */
  static async open(where: ListenOptions, parts: SocketParts): Promise<ServerSocket> {
    const { tls } = where
    return new ServerSocket(where, parts, tls && (await readPair(tls, parts.log)))
  }

  get isBound(): boolean {
    return this.#server !== null
  }

  /** The bound port; the wanted one before. */
  get port(): number {
    return (this.#server?.address() as AddressInfo | null)?.port ?? this.#where.port
  }

  /** The address clients use, without a slash at its end. */
  get url(): string {
    return baseUrlOf(this.#where, this.port)
  }

  /** Throws `port_in_use` or `listen_failed`; then it may be called again. */
  async bind(handlers: Handlers): Promise<void> {
    const { tls } = this.#where
    const { log } = this.#parts
    const server = this.#create(handlers)
    await bindTo(server, this.#where)
    // A failed accept must not end the process.
    server.on('error', error => log.warn({ err: error }, 'a connection cannot be accepted'))
    if (tls !== undefined && 'setSecureContext' in server) {
      this.#unfollow = followPair(tls, server, log)
    }
    this.#server = server
  }

  /**
   * Lets `endStreams` finish what is open and every answer reach its reader, and cuts what remains
   * after the grace time. New connections are closed meanwhile. Resolves when all are closed.
   */
  stop(endStreams = () => {}): Promise<void> {
    return (this.#stopped ??= this.#stop(endStreams))
  }

  #create({ listener, upgrades, requestTimeoutMs = 0 }: Handlers) {
    const { limits } = this.#parts
    const options: ServerOptions = {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: keepAliveTimeoutMs,
      connectionsCheckingInterval: Math.min(1000, limits.headersTimeoutMs),
      // What may wait on a stream before `write` reports it full.
      highWaterMark: limits.maxStreamBufferBytes,
      shouldUpgradeCallback: req => upgrades?.wants(req) ?? false,
      // The guard sees to it, with an answer that says what is wrong.
      requireHostHeader: false,
    }
    const secure = this.#pair && { ...this.#pair, handshakeTimeout: tlsHandshakeMs }
    const server = secure ? createSecureServer({ ...options, ...secure }) : createServer(options)
    server.maxConnections = maxConnections
    server.timeout = stallTimeoutMs(limits)
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
      if (this.#stopped !== null) socket.destroy()
    })
    server.on(secure ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.#connections.set(socket, { unanswered: 0, newest: null })
      socket.once('close', () => this.#connections.delete(socket))
    })
    server.on('request', (req, res) => this.#count(req, res))
    server.on('request', listener)
    server.on('upgrade', (req, socket, head) => {
      // Node handles no errors of a connection that leaves HTTP.
      socket.on('error', () => socket.destroy())
      // It closes itself, properly, or is cut.
      const connection = this.#connections.get(req.socket)
      if (connection !== undefined) connection.unanswered++
      upgrades?.handle(req, socket as Socket, head)
    })
    server.on('clientError', (error, socket) => this.#refuse(error, socket as Socket))
    return server
  }

  #count({ socket }: IncomingMessage, res: ServerResponse): void {
    const connection = this.#connections.get(socket)
    if (connection === undefined) return
    connection.newest = res
    if (++connection.unanswered > maxWaitingRequests + 1) socket.destroy()
    // After the last byte was handed to the system, or with the connection.
    res.once('close', () => {
      if (--connection.unanswered > 0) return
      connection.newest = null
      if (this.#stopped !== null) socket.destroySoon()
    })
  }

  /** Answers what never became a request, as RFC 9457 has it, and closes the connection. */
  #refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    const { unanswered, newest } = this.#connections.get(socket) ?? { unanswered: 1, newest: null }
    const isInBody = unanswered === 1 && newest?.headersSent === false && !newest.req.complete
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
    else if (unanswered === 0 || isInBody) refuseUpgrade(socket, problemOf(error.code))
    // The next bytes would be taken for a part of the answer that is being sent.
    else socket.destroySoon()
  }

  async #stop(endStreams: () => void): Promise<void> {
    this.#unfollow()
    const server = this.#server
    if (server === null) return
    endStreams()
    // Node's own `close` would cut the readers of answers that are written already.
    const open = [...this.#connections].flatMap(([socket, { unanswered }]) => {
      if (unanswered === 0) socket.destroy()
      return unanswered === 0 ? [] : [new Promise(resolve => socket.once('close', resolve))]
    })
    const { stopGraceMs } = this.#parts.limits
    if (open.length > 0) {
      await Promise.race([Promise.all(open), pause(stopGraceMs, undefined, { ref: false })])
    }
    const closed = new Promise<unknown>(resolve => server.close(resolve))
    for (const socket of [...this.#connections.keys(), ...this.#sockets]) socket.destroy()
    await closed
  }
}

function bindTo(server: Server, { host, port }: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(translate(error, host, port)))
    server.listen({ host, port }, () => {
      server.removeAllListeners('error')
      resolve()
    })
  })
}

function translate(error: NodeJS.ErrnoException, host: string, port: number): ServiceError {
  const details = { cause: error, data: { host, port } }
  if (error.code === 'EADDRINUSE') {
    return new ServiceError('port_in_use', `port ${port} on ${host} is in use`, {
      ...details,
      hint: 'stop that server or use --port 0',
    })
  }
  const reason = error.code ?? 'unknown error'
  return new ServiceError('listen_failed', `cannot listen on ${host} port ${port}: ${reason}`, {
    ...details,
    hint: 'choose another address with --host or another port with --port',
  })
}

function problemOf(code: string | undefined): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return makeProblem(
        431,
        'headers-too-large',
        'the header block is too large, or has over 1000 headers',
      )
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return makeProblem(413, 'body-too-large', 'the chunk extensions of the body are too large')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return makeProblem(408, 'request-timeout', 'the request did not arrive in time')
    default:
      return makeProblem(400, 'malformed-request', 'this is not a request of HTTP/1.1')
  }
}

/** The end of a server that runs. */
export interface Stoppable {
  /** Ends the server, once. Resolves when it has stopped, also when that failed. */
  stop(): Promise<void>
  /** Settles when the server has stopped for any reason; rejects when that failed. */
  readonly closed: Promise<void>
}

/** `end` is called at most once. */
export function stoppable(end: () => Promise<unknown>): Stoppable {
  const closed = Promise.withResolvers<void>()
  let stopping: Promise<void> | null = null
  return {
    closed: closed.promise,
    stop: () => (stopping ??= end().then(() => closed.resolve(), closed.reject)),
  }
}
