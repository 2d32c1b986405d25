import type { HttpLimits } from './limits.ts'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { Connections } from './connections.ts'
import { makeProblem } from './problem.ts'
import { answerClientError, refuseUpgrade } from './refused-upgrade.ts'
import type { TlsPair } from './read-pair.ts'
import type { TlsSource } from './tls-source.ts'

/** Bytes of the header block of a request. */
const maxHeaderBytes = 16 * 1024

/** Idle keep-alive connections are closed after this. */
const keepAliveTimeoutMs = 30_000

/** The TLS handshake must be complete after this. */
const tlsHandshakeMs = 10_000

/** Connections open at once; further ones are closed at once. */
export const maxConnections = 16_384

const warnEveryMs = 60_000

export interface Listening {
  readonly address: AddressInfo
  /**
   * Stops accepting, lets `endStreams` finish what is open and every answer reach its reader, cuts
   * what remains after the grace time. Resolves when every connection is closed.
   */
  stop(endStreams: () => void): Promise<void>
}

/** Requests that ask to leave HTTP. Those without a handler are answered as plain requests. */
export interface Upgrades {
  wants(req: IncomingMessage): boolean
  /** Owns the socket from now on. */
  handle(req: IncomingMessage, socket: Socket, head: Buffer): void
}

/** What answers the requests of a server. */
export interface Handlers {
  readonly listener: RequestListener
  readonly upgrades?: Upgrades
  /** A request that is not complete after this gets 408. Default: a large body may take its time. */
  readonly requestTimeoutMs?: number
}

interface ListenParts extends Handlers {
  /** HTTPS with this certificate; absent: plain HTTP. Stays open. */
  readonly tls?: TlsSource
  readonly limits: HttpLimits
  readonly log: Logger
}

/**
 * A connection on which nothing moves for so long is cut: a reader of a large answer that takes
 * nothing any more would hold its bytes, or its file, for ever.
 */
export function stallTimeoutMs(
  limits: Pick<HttpLimits, 'streamStallMs' | 'streamKeepAliveMs'>,
): number {
  return Math.max(limits.streamStallMs, 2 * limits.streamKeepAliveMs)
}

/** Binds a server with every time-out and bound set. */
export async function listen(
  where: { host: string; port: number },
  { listener, upgrades, requestTimeoutMs = 0, tls, limits, log }: ListenParts,
): Promise<Listening> {
  const ended = new WeakSet<Socket>()
  const options: ServerOptions = {
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, limits.headersTimeoutMs),
    // What may wait on a stream before `write` reports it full.
    highWaterMark: limits.maxStreamBufferBytes,
    shouldUpgradeCallback: req => !ended.has(req.socket) && (upgrades?.wants(req) ?? false),
    // The guards see to it, with an answer that says what is wrong.
    requireHostHeader: false,
  }
  const secure =
    tls === undefined ? null : createSecure(options, tls.pair, limits.maxStreamBufferBytes)
  const server = secure ?? createServer(options)
  const unfollow =
    secure === null ? null : tls?.onChange(pair => secure.setSecureContext(rulesOf(pair)))
  server.maxConnections = maxConnections
  server.timeout = stallTimeoutMs(limits)
  const connections = new Connections(server, secure !== null, ended)
  server.on('request', whenReadable(listener, ended))
  server.on('checkContinue', (req, res) => {
    continueWhenRead(req, res)
    server.emit('request', req, res)
  })
  server.on('upgrade', (req, socket, head) => {
    endWithError(socket as Socket)
    upgrades?.handle(req, socket as Socket, head)
  })
  server.on('connect', (_req, socket) => {
    endWithError(socket as Socket)
    if (!ended.has(socket as Socket)) refuseTunnel(socket as Socket)
  })
  server.on('clientError', (error, socket) => {
    // In the middle of an answer there is no way to tell.
    if (connections.mayAnswer(socket as Socket)) answerClientError(error, socket as Socket)
    else socket.destroy()
  })
  await bind(server, where)
  // A failed accept must not end the process; when one fails, many do.
  server.on(
    'error',
    throttle(warnEveryMs, ({ code }: NodeJS.ErrnoException) => {
      log.warn({ code: code ?? 'unknown' }, 'connections cannot be accepted')
    }),
  )
  return {
    address: server.address() as AddressInfo,
    stop(endStreams) {
      unfollow?.()
      return stop(server, connections, endStreams, limits.stopGraceMs)
    },
  }
}

function createSecure(
  options: ServerOptions,
  pair: TlsPair,
  maxStreamBufferBytes: number,
): SecureServer {
  const server = createSecureServer({
    ...options,
    ...rulesOf(pair),
    handshakeTimeout: tlsHandshakeMs,
  })
  server.on('secureConnection', socket => limitBuffer(socket, maxStreamBufferBytes))
  return server
}

function rulesOf({ cert, key }: TlsPair) {
  return { cert, key, minVersion: 'TLSv1.2' as const }
}

/** Node has no option for it: its TLS sockets ignore the server's high-water mark. */
function limitBuffer(socket: Socket, bytes: number): void {
  const { _writableState: state } = socket as unknown as {
    _writableState: { highWaterMark: number }
  }
  state.highWaterMark = bytes
}

/**
 * Passes requests on once their framing is known. Node reports an encoding that it cannot frame,
 * such as `xchunked`, after it has emitted the request, within the same turn: a request that names
 * an encoding is looked at one turn later, or a GET or DELETE would have acted by then.
 *
 * Where a message with unclear framing ends, a proxy in front may judge differently (RFC 9112, 6.1
 * and 6.3). Its answer is the last one on the connection, kept in `ended`; pipelined requests
 * behind it are dropped.
 */
function whenReadable(listener: RequestListener, ended: WeakSet<Socket>): RequestListener {
  return (req, res) => {
    if (ended.has(req.socket)) return
    const encoding = req.headers['transfer-encoding']
    if (encoding === undefined) return listener(req, res)
    if (encoding.toLowerCase() !== 'chunked' || req.httpVersionMinor === 0) {
      ended.add(req.socket)
      res.setHeader('Connection', 'close')
    }
    setImmediate(() => {
      // Not writable: it was malformed, and is answered.
      if (req.socket.writable) listener(req, res)
    })
  }
}

/** Node handles no errors of a connection that leaves HTTP; an unhandled one would end the process. */
function endWithError(socket: Socket): void {
  socket.on('error', () => socket.destroy())
}

/** Refuses CONNECT: the server is no tunnel. */
function refuseTunnel(socket: Socket): void {
  const problem = makeProblem(
    405,
    'method-not-allowed',
    'CONNECT is not answered: this is no proxy',
  )
  // No method is allowed on what it names.
  refuseUpgrade(socket, problem, { Allow: '' })
}

function bind(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
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

async function stop(
  server: Server,
  connections: Connections,
  endStreams: () => void,
  graceMs: number,
): Promise<void> {
  // The `close` of an HTTP server would cut the readers of every answer that is written already.
  const closed = new Promise<void>(resolve => {
    NetServer.prototype.close.call(server, () => resolve())
  })
  endStreams()
  connections.closeWhenAnswered()
  const cut = setTimeout(() => connections.cut(), graceMs)
  await closed
  clearTimeout(cut)
}

/** Runs `act` at most once in `everyMs`; what comes in between is left out. */
function throttle<Argument>(
  everyMs: number,
  act: (argument: Argument) => void,
): (argument: Argument) => void {
  let lastMs = -Infinity
  return argument => {
    const now = performance.now()
    if (now - lastMs < everyMs) return
    lastMs = now
    act(argument)
  }
}

/**
 * `Expect: 100-continue`: asks for the body only when it is about to be read. A request that is
 * refused by its headers is answered at once, and its client sends no body.
 */
function continueWhenRead(req: IncomingMessage, res: ServerResponse): void {
  const read = req._read.bind(req)
  req._read = size => {
    req._read = read
    if (!res.headersSent) res.writeContinue()
    read(size)
  }
}
