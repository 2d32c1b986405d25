import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'

export type Message = Record<string, any>

/** Rejects after a while with what was waited for: no test hangs without a word. */
export async function within<Value>(promise: Promise<Value>, what: string): Promise<Value> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`waited in vain for ${what}`)), 55_000)
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** One connection of the client, seen from the server. */
export class Peer {
  readonly socket: WebSocket
  readonly messages: Message[] = []
  readonly frames: Buffer[] = []
  readonly closed: Promise<number>
  /** Answers each message with an id; set to null to keep silent. */
  answer: ((message: Message) => Message | null) | null
  #waiting: (() => void)[] = []

  constructor(socket: WebSocket, answer: (message: Message) => Message | null) {
    this.socket = socket
    this.answer = answer
    this.closed = new Promise(resolve => socket.once('close', code => resolve(code)))
    socket.on('error', () => {})
    socket.on('message', (data, binary) => {
      if (binary) this.frames.push(data as Buffer)
      else this.#take(JSON.parse(String(data)))
      for (const look of this.#waiting.splice(0)) look()
    })
  }

  get bytes(): Buffer {
    return Buffer.concat(this.frames)
  }

  of(type: string): Message[] {
    return this.messages.filter(message => message.type === type)
  }

  send(message: Message | string): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message))
  }

  /** Resolves with the `count`th message of that type. */
  async next(type: string, count = 1): Promise<Message> {
    await this.until(() => this.of(type).length >= count, `${count} × ${type}`)
    return this.of(type)[count - 1] as Message
  }

  async until(reached: () => boolean, what: string): Promise<void> {
    while (!reached()) await within(new Promise<void>(go => this.#waiting.push(go)), what)
  }

  #take(message: Message): void {
    this.messages.push(message)
    if (message.type === 'ok' || message.type === 'error' || message.id === undefined) return
    const reply = this.answer?.(message)
    if (reply) this.send({ type: 'ok', id: message.id, ...reply })
  }
}

export const welcome = {
  type: 'welcome',
  protocol: 1,
  session: 's',
  server: { name: 'scripted', version: '1' },
  limits: {
    max_message_bytes: 8 * 1024 * 1024,
    max_batch: 100,
    max_in_flight: 8,
    max_artefact_bytes: 1024 ** 3,
    max_scene_objects: 2000,
    scene_min_interval_ms: 0,
  },
  heartbeat_ms: 5000,
  need_scene: true,
}

export interface Script {
  /** Null: no welcome at all. */
  welcome?: Message | null
  /** Instead of the handshake. */
  refuse?: () => number | null
  /** Instead of the welcome. */
  hello?: (peer: Peer, hello: Message) => void
  answer?: (message: Message) => Message | null
  port?: number
}

/** A real WebSocket server on loopback that says what the test wants. */
export class ScriptedServer {
  readonly peers: Peer[] = []
  readonly headers: Record<string, string | string[] | undefined>[] = []
  readonly script: Script
  readonly #http = createServer()
  readonly #sockets = new Set<Socket>()
  #waiting: (() => void)[] = []

  static async start(script: Script = {}): Promise<ScriptedServer> {
    const server = new ScriptedServer(script)
    server.#http.listen(script.port ?? 0, '127.0.0.1')
    await once(server.#http, 'listening')
    return server
  }

  private constructor(script: Script) {
    this.script = script
    const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false })
    this.#http.on('connection', socket => {
      this.#sockets.add(socket)
      socket.on('error', () => {})
    })
    this.#http.on('upgrade', (request, socket, head) => {
      this.headers.push(request.headers)
      const status = this.script.refuse?.() ?? null
      if (status !== null) {
        socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`)
        for (const look of this.#waiting.splice(0)) look()
        return
      }
      sockets.handleUpgrade(request, socket, head, open => this.#accept(open))
    })
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/host`
  }

  get port(): number {
    return (this.#http.address() as AddressInfo).port
  }

  /** The `count`th connection that was opened, after its hello. */
  async peer(count = 1): Promise<Peer> {
    await this.attempts(() => this.peers.length >= count, `connection ${count}`)
    const peer = this.peers[count - 1] as Peer
    await peer.next('hello')
    return peer
  }

  async attempts(reached: () => boolean, what: string): Promise<void> {
    while (!reached()) await within(new Promise<void>(go => this.#waiting.push(go)), what)
  }

  /** Cuts everything, as a killed process would. */
  async kill(): Promise<void> {
    this.#http.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #accept(open: WebSocket): void {
    const peer = new Peer(open, this.script.answer ?? (() => ({})))
    this.peers.push(peer)
    const greeted = (hello: Message) => {
      if (this.script.hello) return this.script.hello(peer, hello)
      const said = this.script.welcome === undefined ? welcome : this.script.welcome
      if (said !== null) peer.send(said)
    }
    // A client that was stopped while it connected says none.
    peer.next('hello').then(greeted, () => {})
    for (const look of this.#waiting.splice(0)) look()
  }
}
