import { expect } from 'chai'
import { once } from 'node:events'
import {
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type Server,
  createServer,
  request,
} from 'node:http'
import { type Socket, connect } from 'node:net'
import { Secret } from '../../../src/lib/util/secret.ts'
import { systemTimer } from '../../../src/lib/util/time.ts'
import { EventBuffers } from '../../../src/server/host/event-buffers.ts'
import { peerOfConnection } from '../../../src/server/http/trusted-proxies.ts'
import { type HostRefused, createHostRoutes } from '../../../src/server/host/routes.ts'
import type { Presence } from '../../../src/server/host/link/presence.ts'
import { type Limits, resolveLimits } from '../../../src/lib/config/limits.ts'
import { MemorySink } from './memory-sink.ts'

export const token = 'host-token-of-this-test'
export const bearer = { Authorization: `Bearer ${token}` }
export const json = { ...bearer, 'Content-Type': 'application/json' }

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  text: string
  body: AnswerBody
}

export interface AnswerBody {
  code?: string
  existed?: boolean
  errors?: { pointer: string; detail: string }[]
}

/** Small enough that a test reaches them. */
export const smallBounds = { maxEventBuffers: 2, maxMessageBytes: 40_000, bodyTimeoutMs: 200 }

/** The host routes on a real server, port 0. */
export class Harness {
  readonly sink = new MemorySink()
  readonly refused: HostRefused[] = []
  readonly errors: object[] = []
  readonly presences: Presence[] = []
  readonly server: Server
  port = 0
  #host = '127.0.0.1'

  private constructor(server: Server) {
    this.server = server
  }

  /** On an address, or on a Unix socket, whose peers have no address at all. */
  static async start(
    limits: Partial<Limits> = {},
    where: { host: string } | { path: string } = { host: '127.0.0.1' },
  ): Promise<Harness> {
    const server = createServer()
    const harness = new Harness(server)
    const routes = createHostRoutes({
      sink: harness.sink,
      buffers: new EventBuffers(harness.sink, {
        max: resolveLimits(limits).maxEventBuffers,
        graceMs: resolveLimits(limits).linkGraceMs,
        timer: systemTimer,
      }),
      token: new Secret(token),
      limits: resolveLimits(limits),
      log: {
        debug: () => {},
        info: () => {},
        warn: () => {},
        error: fields => void harness.errors.push(fields),
      },
      peerOf: peerOfConnection,
      onPresence: presence => void harness.presences.push(presence),
      onRefused: refused => void harness.refused.push(refused),
    })
    server.on('request', (req, res) => {
      const [path = ''] = (req.url ?? '').split('?')
      void routes(req, res, path)
    })
    if ('host' in where) harness.#host = where.host
    server.listen('host' in where ? { port: 0, ...where } : where)
    await once(server, 'listening')
    const address = server.address()
    if (typeof address === 'object' && address !== null) harness.port = address.port
    return harness
  }

  expectNothingArrived(): void {
    expect(this.sink.scenes).to.deep.equal([])
    expect(this.sink.records).to.deep.equal([])
    expect([...this.sink.buffers.keys()]).to.deep.equal([])
    expect(this.sink.memory.stored.size).to.equal(0)
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections()
    this.server.close()
    await once(this.server, 'close')
  }

  post(path: string, body: string | Buffer, headers: OutgoingHttpHeaders = json): Promise<Answer> {
    return this.send('POST', path, headers, body)
  }

  async send(
    method: string,
    path: string,
    headers: OutgoingHttpHeaders,
    body: string | Buffer = '',
  ): Promise<Answer> {
    const req = request({ port: this.port, host: this.#host, method, path, headers })
    req.end(body)
    const [res] = await once(req, 'response')
    let text = ''
    for await (const chunk of res.setEncoding('utf8')) text += chunk
    return { status: res.statusCode, headers: res.headers, text, body: JSON.parse(text) }
  }

  /** A connection for requests that no client library would send. */
  async raw(): Promise<RawConnection> {
    const socket = connect(this.port, '127.0.0.1')
    await once(socket, 'connect')
    return new RawConnection(socket)
  }
}

export class RawConnection {
  readonly socket: Socket
  received = ''
  error: Error | undefined
  readonly closed: Promise<void>

  constructor(socket: Socket) {
    this.socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => (this.received += chunk))
    socket.on('error', error => (this.error = error))
    this.closed = new Promise(resolve => socket.on('close', () => resolve()))
  }

  /** Resolves once the text has arrived. */
  async until(text: string): Promise<void> {
    while (!this.received.includes(text)) await once(this.socket, 'data')
  }
}

export function head(path: string, headers: Record<string, string | number>): string {
  const lines = Object.entries({ Host: 'localhost', ...headers }).map(([k, v]) => `${k}: ${v}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}
