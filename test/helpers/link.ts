import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { WebSocket } from 'ws'
import { subprotocol } from '../../src/lib/host-link/wire.ts'
import { atEnd } from './cleanup.ts'

export interface LinkAddress {
  readonly hostUrl: string
  readonly token: string
}

export interface Closed {
  readonly code: number
  readonly reason: string
}

/** Members of an answer; with `code` it is an error. `png`: the picture that follows it. */
export type LinkAnswer = { png?: Buffer; [member: string]: unknown } | undefined

/** What the application answers to a request of the server; undefined: nothing. */
export type Answering = (question: any) => LinkAnswer | Promise<LinkAnswer>

export const instanceId = 'the-run-of-the-test'

/** A whole `hello`, with other members where a test wants them. */
export function helloOf(members: Record<string, unknown> = {}) {
  return {
    type: 'hello',
    client: { name: 'test', version: '1' },
    app: { dcc_type: 'blender', version: '3.4.1', pid: 4711, mode: 'gui' },
    instance_id: instanceId,
    ...members,
  }
}

/** An application on the host link that says what a test makes it say. */
export class LinkClient {
  readonly ws: WebSocket
  /** For half frames, wrong frames and hard cuts. */
  socket!: Socket
  /** Of the server. */
  pings = 0
  /** All messages that came, replies included. */
  readonly messages: any[] = []
  readonly closed: Promise<Closed>
  welcome: any = undefined
  /** Told of every message, in place of `messages` when it returns true: for floods. */
  drain: (message: any) => boolean = () => false
  answer: Answering = () => undefined
  #lastId = 0
  /** Not taken by `next` yet; answers to `ask` never are. */
  readonly #unseen: any[] = []
  readonly #asked = new Map<string, (reply: any) => void>()
  #waiting: (() => void)[] = []
  #isClosed = false

  private constructor(ws: WebSocket) {
    this.ws = ws
    ws.once('upgrade', ({ socket }) => (this.socket = socket))
    ws.on('ping', () => this.pings++)
    ws.on('message', data => this.#arrived(JSON.parse(String(data))))
    ws.on('error', () => {})
    this.closed = new Promise(resolve => {
      ws.on('close', (code, reason) => {
        this.#isClosed = true
        this.#wake()
        resolve({ code, reason: String(reason) })
      })
    })
  }

  /** A WebSocket past the handshake; no hello yet. Rejects with the HTTP answer when refused. */
  static async open({ hostUrl, token }: LinkAddress, autoPong = true): Promise<LinkClient> {
    const headers = { Authorization: `Bearer ${token}` }
    const ws = new WebSocket(hostUrl.replace('http', 'ws'), subprotocol, {
      headers,
      perMessageDeflate: false,
      autoPong,
    })
    const client = new LinkClient(ws)
    atEnd(() => ws.terminate())
    await once(ws, 'open')
    return client
  }

  /** Open, with hello and welcome exchanged; it quits at the end. Rejects with the code of the close. */
  static async connect(
    serve: LinkAddress,
    members: Record<string, unknown> = {},
    autoPong = true,
  ): Promise<LinkClient> {
    const client = await LinkClient.open(serve, autoPong)
    client.say(helloOf(members))
    await client
      .until(() => client.messages.length > 0, 'welcome')
      .catch(async () => {
        const { code, reason } = await client.closed
        throw Object.assign(new Error(reason), { code })
      })
    client.welcome = await client.next()
    atEnd(() => client.bye())
    return client
  }

  say(message: object | string): void {
    const isData = typeof message === 'string' || Buffer.isBuffer(message)
    this.ws.send(isData ? message : JSON.stringify(message))
  }

  /** Sends with an id; resolves with the reply, `ok` or `error`, without the id. */
  ask(message: object): Promise<any> {
    const id = `t${++this.#lastId}`
    const { promise, resolve, reject } = Promise.withResolvers<any>()
    this.#asked.set(id, resolve)
    void this.closed.then(({ code }) => reject(new Error(`closed with ${code} before the reply`)))
    this.say({ ...message, id })
    return promise
  }

  /** The same; fails when the reply is an error. */
  async done(message: object): Promise<any> {
    const reply = await this.ask(message)
    if (reply.type !== 'ok') throw new Error(`${JSON.stringify(message)}: ${reply.message}`)
    return reply
  }

  /** Resolves once the server has handled all that was sent before. */
  async settled(): Promise<void> {
    await this.done({ type: 'app.update' })
  }

  /** The message that came next. */
  async next(): Promise<any> {
    await this.until(() => this.#unseen.length > 0, 'a message')
    return this.#unseen.shift()
  }

  ofType(type: string): any[] {
    return this.messages.filter(message => message.type === type)
  }

  /** Resolves when the condition holds; it is looked at with every message. */
  async until(condition: () => boolean, what: string, deadlineMs = 55_000): Promise<void> {
    let late = false
    const timer = setTimeout(() => {
      late = true
      this.#wake()
    }, deadlineMs)
    try {
      while (!condition()) {
        if (late) throw new Error(`not within ${deadlineMs} ms: ${what}`)
        if (this.#isClosed) throw new Error(`the link closed before: ${what}`)
        await new Promise<void>(resolve => this.#waiting.push(resolve))
      }
    } finally {
      clearTimeout(timer)
    }
  }

  /** Resolves when all that was sent left this process. */
  async flushed(): Promise<void> {
    while (this.ws.bufferedAmount > 0) {
      await new Promise<void>(resolve => setImmediate(resolve))
    }
  }

  /** As an application that quits. */
  async bye(): Promise<Closed> {
    this.say({ type: 'bye', reason: 'quit' })
    return this.closed
  }

  /** As one that crashes: no close frame. */
  cut(): void {
    this.ws.terminate()
  }

  /** RST: what was not sent yet is lost. */
  reset(): void {
    this.socket.resetAndDestroy()
  }

  #arrived(message: any): void {
    const { id, ...reply } = message
    const asked = this.#asked.get(id)
    this.#asked.delete(id)
    asked?.(reply)
    if (!this.drain(message)) {
      this.messages.push(message)
      if (asked === undefined) this.#unseen.push(message)
    }
    if (['read', 'refresh', 'capture'].includes(message.type)) void this.#reply(message)
    this.#wake()
  }

  async #reply(question: any): Promise<void> {
    const reply = await this.answer(question)
    if (reply === undefined) return
    const { png, ...members } = reply
    const type = 'code' in members ? 'error' : 'ok'
    this.say({ type, id: question.id, png_bytes: png?.length, ...members })
    if (png !== undefined) this.ws.send(png)
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }
}

export const opcodes = { text: 1, binary: 2 } as const

/** One masked frame. */
export function frameOf(payload: Buffer | string, opcode: number = opcodes.text): Buffer {
  const bytes = Buffer.from(payload)
  const head = Buffer.alloc(10)
  head.set([0x80 | opcode, 0x80 | 127])
  head.writeBigUInt64BE(BigInt(bytes.length), 2)
  const key = randomBytes(4)
  const masked = bytes.map((byte, index) => byte ^ (key[index % 4] ?? 0))
  return Buffer.concat([head, key, masked])
}
