import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { until } from '../helpers/until.ts'
import { listening } from '../helpers/listening.ts'

export const token = 'a-token-that-nobody-may-see'

export const welcome = {
  type: 'welcome',
  server: { name: 'service-cli', version: '0.1.0' },
  limits: { max_message_bytes: 64 * 1024 * 1024, max_batch: 100, max_patched_objects: 2000 },
  heartbeat_ms: 5000,
  need_scene: false,
}

export type Message = { type: string; id?: string; [member: string]: any }

/** The server's end of one connection: keeps what arrives, sends what the test says. */
export class Peer {
  readonly ws: WebSocket
  readonly request: IncomingMessage
  readonly messages: Message[] = []
  readonly binary: Buffer[] = []
  /** Types of messages, and `bytes of N`, as they came. */
  readonly order: string[] = []
  /** Types whose messages are answered `ok` at once. */
  readonly answers = new Set<string>(answered)
  closeCode: number | null = null

  constructor(ws: WebSocket, request: IncomingMessage) {
    this.ws = ws
    this.request = request
    ws.on('message', (data: Buffer, isBinary) => {
      if (isBinary) {
        this.order.push(`bytes of ${data.length}`)
        return void this.binary.push(data)
      }
      const message: Message = JSON.parse(data.toString('utf8'))
      this.order.push(message.type)
      this.messages.push(message)
      if (message.id !== undefined && this.answers.has(message.type)) this.ok(message)
      if (message.type === 'bye') ws.close(1000)
    })
    ws.on('error', () => {})
    ws.on('close', code => (this.closeCode = code))
  }

  /** The TCP connection below, for bytes that no WebSocket server would send. */
  get socket(): Socket {
    return (this.ws as unknown as { _socket: Socket })._socket
  }

  send(message: object): void {
    this.ws.send(JSON.stringify(message))
  }

  ok(message: Message, members: object = {}): void {
    this.send({ type: 'ok', id: message.id, ...members })
  }

  of(type: string): Message[] {
    return this.messages.filter(message => message.type === type)
  }

  /** The nth message of a type. */
  async nth(type: string, n = 1): Promise<Message> {
    await until(() => this.of(type).length >= n, `${n} of ${type}`)
    return this.of(type)[n - 1]!
  }

  /** The answer to a question with this id. */
  async answerTo(id: string): Promise<Message> {
    const found = () => this.messages.find(message => message.id === id && isAnswer(message))
    await until(() => found() !== undefined, `an answer to ${id}`)
    return found()!
  }

  async closed(): Promise<number> {
    await until(() => this.closeCode !== null, 'the close of the connection')
    return this.closeCode!
  }
}

const answered = [
  'heartbeat',
  'scene.set',
  'audit.record',
  'app.update',
  'events.open',
  'events.append',
  'producer.register',
  'producer.unregister',
  'resource.updated',
]

const isAnswer = ({ type }: Message) => type === 'ok' || type === 'error'

export interface Script {
  /** Sent after the hello; null: nothing. */
  welcome?: object | null
  /** HTTP status instead of the upgrade. */
  refuse?: (request: IncomingMessage) => number | null
  connected?: (peer: Peer) => void
}

/** A real WebSocket server that behaves as a test wants. */
export class ScriptedServer {
  readonly peers: Peer[] = []
  attempts = 0
  script: Script
  readonly #http: Server
  #sockets = new Set<Socket>()

  static async start(script: Script = {}): Promise<ScriptedServer> {
    const http = createServer()
    await listening(http)
    return new ScriptedServer(http, script)
  }

  private constructor(http: Server, script: Script) {
    this.#http = http
    this.script = script
    const wss = new WebSocketServer({ noServer: true, perMessageDeflate: false })
    http.on('connection', socket => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
    http.on('upgrade', (request, socket, head) => {
      this.attempts++
      const status = this.script.refuse?.(request) ?? null
      if (status !== null) {
        const body = JSON.stringify({ detail: 'said by the server' })
        const length = `Content-Length: ${body.length}`
        return void socket.end(`HTTP/1.1 ${status} Refused\r\n${length}\r\n\r\n${body}`)
      }
      wss.handleUpgrade(request, socket, head, ws => this.#connected(new Peer(ws, request)))
    })
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}/host`
  }

  /** The nth connection, its hello said and answered. */
  async peer(n = 1, deadlineMs?: number): Promise<Peer> {
    await until(() => this.peers.length >= n, `connection ${n}`, deadlineMs)
    const peer = this.peers[n - 1]!
    await peer.nth('hello')
    return peer
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#http.close()
    await once(this.#http, 'close')
  }

  #connected(peer: Peer): void {
    const answer = this.script.welcome === undefined ? welcome : this.script.welcome
    peer.ws.once('message', () => {
      if (answer !== null) peer.send(answer)
      this.script.connected?.(peer)
    })
    this.peers.push(peer)
  }
}
