import { expect } from 'chai'
import { once } from 'node:events'
import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http'
import { type Socket, connect } from 'node:net'
import { WebSocket, type ClientOptions } from 'ws'
import { Secret } from '../../../src/lib/util/secret.ts'
import { Checkpoints } from '../../../src/server/checkpoints/checkpoints.ts'
import { DocumentFolder } from '../../../src/server/checkpoints/document-folder.ts'
import { createHostEndpoint, type HostParts } from '../../../src/server/host/endpoint.ts'
import type { LinkedPictures } from '../../../src/server/capture/host-backend.ts'
import type { Presence } from '../../../src/server/host/status.ts'
import { AuditLog, type AuditRecord } from '../../../src/server/resources/audit-log.ts'
import type { TextContent } from '../../../src/server/resources/producer.ts'
import type { ResourceRegistry } from '../../../src/server/resources/registry.ts'
import type { SceneState } from '../../../src/server/resources/scene/state.ts'
import type { RefusedRequest } from '../../../src/server/http/refusal-log.ts'
import { McpHttpServer } from '../../../src/server/mcp/mcp-http-server.ts'
import { helloOf } from '../../helpers/link.ts'
import { recordingLog } from '../../helpers/fakes.ts'
import { MemoryArtefacts } from './memory-artefacts.ts'
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
  /** Default: a store in memory. */
  readonly artefacts?: HostParts['artefacts']
  /** Default: there are none. */
  readonly notes?: HostParts['notes']
}

/** The whole server on port 0, which remembers what arrived. */
export class LinkServer {
  readonly scenes: (object | null)[] = []
  readonly records: AuditRecord[] = []
  /** Scenes and audit records in the order of their arrival. */
  readonly journal: string[] = []
  readonly memory = new MemoryArtefacts()
  readonly presences: Presence[] = []
  readonly refused: RefusedRequest[] = []
  readonly log = recordingLog()
  /** The application as a source of pictures. */
  pictures!: LinkedPictures
  registry!: ResourceRegistry
  readonly #server: McpHttpServer
  readonly #clients: { terminate(): void }[] = []
  port = 0

  static async start(options: LinkServerOptions = {}): Promise<LinkServer> {
    const server = new LinkServer(options)
    server.port = (await server.#server.start()).port
    return server
  }

  private constructor({ limits = {}, allowedOrigins = [], ...stores }: LinkServerOptions) {
    const services = {
      log: this.log,
      accessLog: () => {},
      host: ({ registry }: { registry: ResourceRegistry }) => {
        this.registry = registry
        this.#recordScenes(registry.scene)
        const audit = new AuditLog()
        const endpoint = createHostEndpoint({
          registry,
          audit: {
            record: record => {
              this.records.push(record)
              this.journal.push(`audit ${record.action}`)
              return audit.record(record)
            },
          },
          checkpoints: new Checkpoints({
            document: () => new DocumentFolder('/nowhere'),
            scene: () => registry.scene.fresh(),
          }),
          appOrigins: [],
          notes: null,
          artefacts: this.memory,
          clients: { rows: () => [], watch: () => () => {} },
          token: new Secret(token),
          log: this.log,
          limits: boundsWith(limits),
          onPresence: presence => void this.presences.push(presence),
          onRefused: refused => void this.refused.push(refused),
          ...stores,
        })
        this.pictures = endpoint.pictures
        return endpoint
      },
    }
    this.#server = new McpHttpServer({ allowedOrigins }, { limits, ...services })
  }

  #recordScenes(scene: SceneState): void {
    const replace = scene.replaceText.bind(scene)
    scene.replaceText = (text, ...rest) => {
      if (text?.includes('explode')) throw new Error('secret path /etc/shadow')
      const revision = replace(text, ...rest)
      this.scenes.push(JSON.parse(text ?? 'null'))
      this.journal.push(`scene ${text}`)
      return revision
    }
  }

  get scene(): SceneState {
    return this.registry.scene
  }

  /** Sessions of events that clients find. */
  async buffers(): Promise<string[]> {
    const { descriptors } = await this.registry.page(undefined)
    const events = descriptors.filter(({ uri }) => uri.startsWith('events:'))
    return events.map(({ uri }) => decodeURIComponent(uri.slice('events://session/'.length)))
  }

  /** What a client reads. */
  async read(uri: string): Promise<any> {
    const [content] = await this.registry.read(uri)
    return JSON.parse((content as TextContent).text)
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
    expect(this.scenes).to.deep.equal([])
    expect(this.records).to.deep.equal([])
    expect(this.memory.stored.size).to.equal(0)
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
