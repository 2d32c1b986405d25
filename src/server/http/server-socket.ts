import { once } from 'node:events'
import {
  createServer,
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
import { type ServerLimits, stallTimeoutMs } from './limits.ts'
import { baseUrlOf, type ListenOptions } from './listen-options.ts'
import { followPair, readPair } from './tls.ts'
import type { Upgrades } from './upgrade.ts'

/** Idle keep-alive connections are closed after this. */
const keepAliveTimeoutMs = 30_000
/** Pipelined requests that wait for their turn; a connection with more is closed. */
const maxWaitingRequests = 64

/** What answers the requests of a server. */
export interface Handlers {
  listener: RequestListener
  upgrades?: Upgrades
}

/** The listening socket of a server, with its certificate. */
export class ServerSocket {
  readonly #where: ListenOptions
  readonly #parts: { limits: ServerLimits; log: Logger }
  readonly #sockets = new Set<Socket>()
  /** Answers of each connection that have not left yet; 1 for one that left HTTP. */
  readonly #unanswered = new Map<Socket, number>()
  readonly #allAnswered = Promise.withResolvers<void>()
  #server: Server | null = null
  #unfollow = () => {}
  #stopped: Promise<void> | null = null

  constructor(where: ListenOptions, parts: { limits: ServerLimits; log: Logger }) {
    this.#where = where
    this.#parts = parts
  }

  /** The bound port; the wanted one before. */
  get port(): number {
    return (this.#server?.address() as AddressInfo | null)?.port ?? this.#where.port
  }

  /** The address clients use, without a slash at its end. */
  get url(): string {
    return baseUrlOf(this.#where, this.port)
  }

  /**
   * Throws `port_in_use` or `listen_failed`; then it may be called again. Throws `config_invalid` for
   * a certificate that cannot be used.
   */
  async bind(handlers: Handlers): Promise<void> {
    const { host, port, tls } = this.#where
    const { log } = this.#parts
    const server = this.#create(handlers, tls && (await readPair(tls)))
    try {
      await once(server.listen({ host, port }), 'listening')
    } catch (error) {
      throw bindFailure(error as NodeJS.ErrnoException, host, port)
    }
    // A failed accept must not end the process.
    server.on('error', error => log.warn({ err: error }, 'a connection cannot be accepted'))
    if (tls !== undefined && 'setSecureContext' in server) {
      this.#unfollow = followPair(tls, server, log)
    }
    this.#server = server
  }

  /**
   * Lets every answer reach its reader, also what is written to streams in this turn, and cuts what
   * remains after the grace time. New connections and requests are cut meanwhile. Resolves when all
   * are closed.
   */
  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop())
  }

  #create({ listener, upgrades }: Handlers, pair?: Awaited<ReturnType<typeof readPair>>) {
    const { limits } = this.#parts
    const options: ServerOptions = {
      headersTimeout: limits.headersTimeoutMs,
      // A large body may take its time; what reads it has bounds of its own.
      requestTimeout: 0,
      keepAliveTimeout: keepAliveTimeoutMs,
      connectionsCheckingInterval: 1000,
      // What may wait on a stream before `write` reports it full.
      highWaterMark: limits.maxStreamBufferBytes,
      shouldUpgradeCallback: req => upgrades?.wants(req) ?? false,
      // The guard sees to it, with an answer that says what is wrong.
      requireHostHeader: false,
    }
    const server = pair ? createSecureServer({ ...options, ...pair }) : createServer(options)
    server.timeout = stallTimeoutMs(limits)
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
      if (this.#stopped !== null) socket.destroy()
    })
    server.on('request', (req, res) => {
      // After the last byte was handed to the system, or with the connection.
      if (this.#begin(req.socket, res)) listener(req, res)
    })
    server.on('upgrade', (req, socket: Socket, head) => {
      // Node handles no errors of a connection that leaves HTTP.
      socket.on('error', () => socket.destroy())
      // The answer to an earlier request would get into the other protocol.
      if (this.#unanswered.has(req.socket)) return void socket.destroy()
      // It closes itself, properly, or is cut.
      if (this.#begin(req.socket, socket)) upgrades?.handle(req, socket, head)
    })
    return server
  }

  /** Adds a request to those of the connection. Returns false when it cut the connection instead. */
  #begin(socket: Socket, answer: ServerResponse | Socket): boolean {
    const count = this.#unanswered.get(socket) ?? 0
    if (this.#stopped !== null || count > maxWaitingRequests) {
      socket.destroy()
      return false
    }
    this.#unanswered.set(socket, count + 1)
    answer.once('close', () => {
      const left = (this.#unanswered.get(socket) ?? 1) - 1
      if (left > 0) this.#unanswered.set(socket, left)
      else this.#unanswered.delete(socket)
      if (this.#stopped !== null && this.#unanswered.size === 0) this.#allAnswered.resolve()
    })
    return true
  }

  async #stop(): Promise<void> {
    this.#unfollow()
    const server = this.#server
    if (server === null) return
    // Node's own `close` would cut the readers of answers that are written already.
    if (this.#unanswered.size > 0) {
      const { stopGraceMs } = this.#parts.limits
      await Promise.race([this.#allAnswered.promise, pause(stopGraceMs, undefined, { ref: false })])
    }
    const closed = new Promise<unknown>(resolve => server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }
}

function bindFailure(error: NodeJS.ErrnoException, host: string, port: number): ServiceError {
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
