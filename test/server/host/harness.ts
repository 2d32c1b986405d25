import { expect } from 'chai'
import { once } from 'node:events'
import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http'
import { type Socket, connect } from 'node:net'
import { WebSocket, type ClientOptions } from 'ws'
import type { Clock } from '../../../src/lib/util/time.ts'
import { Secret } from '../../../src/lib/util/secret.ts'
import { createHostEndpoint } from '../../../src/server/host/host-endpoint.ts'
import type { LinkedPictures } from '../../../src/server/capture/host-backend.ts'
import type { Presence } from '../../../src/server/host/link/presence.ts'
import type { RefusedRequest } from '../../../src/server/http/refusal-log.ts'
import { McpHttpServer } from '../../../src/server/mcp/mcp-http-server.ts'
import { helloOf } from '../../helpers/link.ts'
import { recordingLog } from '../../helpers/recording-log.ts'
import { MemorySink } from './memory-sink.ts'
import { type Bounds, boundsWith } from '../../helpers/bounds.ts'

const token = 'host-token-of-this-test'
export const bearer = { Authorization: `Bearer ${token}` }
export const json = { ...bearer, 'Content-Type': 'application/json' }

export type Message = Record<string, unknown>

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  text: string
  body: { code?: string; existed?: boolean; errors?: { pointer: string; detail: string }[] }
}

export interface LinkServerOptions {
  readonly limits?: Partial<Bounds>
  readonly allowedOrigins?: readonly string[]
  /** Default: the system's. */
  readonly clock?: Clock
}

/** The whole server on port 0, with a sink that remembers what arrived. */
export class LinkServer {
  readonly sink = new MemorySink()
  readonly presences: Presence[] = []
  readonly refused: RefusedRequest[] = []
  readonly log = recordingLog()
  /** The application as a source of pictures. */
  pictures!: LinkedPictures
  readonly #server: McpHttpServer
  readonly #clients: { terminate(): void }[] = []
  port = 0

  static async start(options: LinkServerOptions = {}): Promise<LinkServer> {
    const server = new LinkServer(options)
    server.port = (await server.#server.start()).port
    return server
  }

  private constructor({ limits = {}, allowedOrigins = [], clock }: LinkServerOptions) {
    const services = {
      log: this.log,
      accessLog: () => {},
      host: ({ registry }: { registry: ReturnType<McpHttpServer['resources']> }) => {
        const room = createHostEndpoint({
          sink: this.sink,
          registry,
          token: new Secret(token),
          log: this.log,
          identity: { name: 'service-cli', version: '0' },
          limits: boundsWith(limits),
          ...(clock === undefined ? {} : { clock }),
          onPresence: presence => void this.presences.push(presence),
          onRefused: refused => void this.refused.push(refused),
        })
        this.pictures = room.pictures
        return room
      },
    }
    this.#server = new McpHttpServer({ allowedOrigins }, { limits, ...services })
  }

  readonly token = token

  get hostUrl(): string {
    return `http://127.0.0.1:${this.port}/host`
  }

  get presence(): Presence | undefined {
    return this.presences.at(-1)
  }

  /** A WebSocket past the handshake that has said nothing yet. */
  async open(options: ClientOptions = {}): Promise<Peer> {
    const ws = new WebSocket(`ws://127.0.0.1:${this.port}/host`, 'dcc-host.v1', {
      headers: bearer,
      ...options,
    })
    const peer = new Peer(ws)
    this.#clients.push(ws)
    await once(ws, 'open')
    return peer
  }

  /** One that said hello and was welcomed. */
  async join(instanceId = 'run-1', members: Message = {}): Promise<Peer> {
    const peer = await this.open()
    peer.send(hello(instanceId, members))
    peer.welcome = await peer.next()
    return peer
  }

  /** A connection for what no client library would send. */
  async raw(): Promise<RawConnection> {
    const socket: Socket = connect(this.port, '127.0.0.1')
    this.#clients.push({ terminate: () => socket.destroy() })
    await once(socket, 'connect')
    return new RawConnection(socket)
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
    const req = request({ port: this.port, host: '127.0.0.1', method, path, headers })
    req.end(body)
    const [res] = await once(req, 'response')
    let text = ''
    for await (const chunk of res.setEncoding('utf8')) text += chunk
    return { status: res.statusCode, headers: res.headers, text, body: JSON.parse(text) }
  }

  expectNothingArrived(): void {
    expect(this.sink.scenes).to.deep.equal([])
    expect(this.sink.records).to.deep.equal([])
    expect([...this.sink.buffers.keys()]).to.deep.equal([])
    expect(this.sink.memory.stored.size).to.equal(0)
  }

  get errors(): string[] {
    return this.log.lines.filter(({ level }) => level === 'error').map(({ text }) => text)
  }

  /** The server alone: clients are left as they are. */
  stopServer(): Promise<void> {
    return this.#server.stop()
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) client.terminate()
    await this.#server.stop()
  }
}

export const hello = (instanceId = 'run-1', members: Message = {}): Message =>
  helloOf({ instance_id: instanceId, ...members })

/** The application's end of a link. */
export class Peer {
  readonly ws: WebSocket
  readonly closed: Promise<{ code: number; reason: string }>
  /** As it arrived. */
  readonly received: Message[] = []
  welcome: Message = {}
  pings = 0
  #taken = 0
  #arrived = () => {}

  constructor(ws: WebSocket) {
    this.ws = ws
    ws.on('message', data => {
      this.received.push(JSON.parse(String(data)))
      this.#arrived()
    })
    ws.on('ping', () => this.pings++)
    ws.on('error', () => {})
    this.closed = new Promise(resolve => {
      ws.once('close', (code, reason) => {
        this.#arrived()
        resolve({ code, reason: reason.toString() })
      })
    })
  }

  send(message: Message | string | Buffer): void {
    const isData = typeof message === 'string' || Buffer.isBuffer(message)
    this.ws.send(isData ? message : JSON.stringify(message))
  }

  /** The next message that was not looked at yet. */
  async next(): Promise<Message> {
    while (this.#taken >= this.received.length) {
      if (this.ws.readyState === WebSocket.CLOSED) throw new Error('the link is closed')
      await new Promise<void>(resolve => (this.#arrived = resolve))
    }
    return this.received[this.#taken++] ?? {}
  }

  /** Sends with an id and resolves with the answer to it, whatever comes before. */
  async ask(message: Message): Promise<Message> {
    const id = `q${Math.random()}`
    this.send({ ...message, id })
    for (;;) {
      const answer = await this.next()
      if (answer.id !== id) continue
      const { id: _, ...rest } = answer
      return rest
    }
  }

  /** Resolves once the server has handled all that was sent before. */
  async settled(): Promise<void> {
    await this.ask({ type: 'app.update' })
  }
}

/** A connection whose bytes a test writes and reads. */
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
