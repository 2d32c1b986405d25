import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { ServiceError } from '../lib/errors.ts'
import type { Limits } from './options.ts'

export interface Listening {
  readonly address: AddressInfo
  /**
   * Stops accepting, lets `endStreams` finish what is open, cuts what remains after the grace
   * time. Resolves when every connection is closed.
   */
  stop(endStreams: () => void): Promise<void>
}

/** Binds a server with every time-out and bound set. */
export async function listen(
  listener: RequestListener,
  where: { host: string; port: number },
  limits: Limits,
): Promise<Listening> {
  const server = createServer(
    {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      // Bodies have a progress time-out of their own: a large upload may take its time.
      requestTimeout: 0,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: Math.min(1000, limits.headersTimeoutMs),
      // What may wait on a stream before `write` reports it full.
      highWaterMark: limits.maxStreamBufferBytes,
    },
    listener,
  )
  server.maxConnections = limits.maxConnections
  // A reader of a large answer that takes nothing any more would hold its file open for ever.
  server.timeout = Math.max(limits.streamStallMs, 2 * limits.streamKeepAliveMs)
  const sockets = new Set<Socket>()
  server.on('connection', socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await bind(server, where)
  return {
    address: server.address() as AddressInfo,
    stop: endStreams => stop(server, sockets, endStreams, limits.stopGraceMs),
  }
}

function bind(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(translate(error, host, port)))
    server.listen({ host, port }, () => {
      server.removeAllListeners('error')
      // A failed accept (no file descriptor left) must not end the process.
      server.on('error', () => {})
      resolve()
    })
  })
}

function translate(error: NodeJS.ErrnoException, host: string, port: number): ServiceError {
  const details = { cause: error, data: { host, port } }
  if (error.code === 'EADDRINUSE') {
    return new ServiceError('port_in_use', `port ${port} on ${host} is in use`, {
      ...details,
      hint: 'stop its holder, or let the system pick a free one with --port 0',
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
  sockets: ReadonlySet<Socket>,
  endStreams: () => void,
  graceMs: number,
): Promise<void> {
  const closed = new Promise<void>(resolve => server.close(() => resolve()))
  endStreams()
  // A connection is idle only once its last answer is out: look again until none is left.
  const idle = setInterval(() => server.closeIdleConnections(), 20)
  const cut = setTimeout(() => server.closeAllConnections(), graceMs)
  server.closeIdleConnections()
  // Opened ahead of need, as browsers do: to Node their first request has begun already.
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
  await closed
  clearInterval(idle)
  clearTimeout(cut)
}
