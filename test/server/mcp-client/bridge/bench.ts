import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { PassThrough } from 'node:stream'
import type { Logger } from '../../../../src/lib/util/logger.ts'
import { ok } from '../../../../src/lib/util/result.ts'
import { Secret } from '../../../../src/lib/util/secret.ts'
import { runBridge } from '../../../../src/lib/mcp/bridge/bridge.ts'
import { atEnd } from '../../../helpers/cleanup.ts'
import { listening } from '../../../helpers/listening.ts'

export interface BridgeOptions {
  readonly key?: string
  readonly env?: NodeJS.ProcessEnv
}

const waitMs = 55_000

/** A client on the two ends of a bridge, in this process; it ends by itself. */
export class BridgeClient {
  readonly input = new PassThrough()
  readonly output = new PassThrough()
  /** Every line that came out, parsed. */
  readonly messages: any[] = []
  readonly lines: string[] = []
  /** `level message` of each line on stderr. */
  readonly log: string[] = []
  /** What else stands in them. */
  readonly fields: object[] = []
  readonly stop = new AbortController()
  readonly ended: Promise<void>
  #rest = ''
  #lastId = 0
  #waiting: (() => void)[] = []

  constructor(url: string, options: BridgeOptions = {}) {
    const { key, env = {} } = options
    this.output.setEncoding('utf8')
    this.output.on('data', (text: string) => this.#feed(text))
    atEnd(() => this.end())
    this.ended = runBridge(
      {
        input: this.input,
        output: this.output,
        locate: async () => ok({ url: new URL(url) }),
        key: key === undefined ? null : new Secret(key),
        env,
        log: this.#logger(),
      },
      this.stop.signal,
    )
  }

  write(text: string | Buffer): void {
    this.input.write(text)
  }

  send(message: object): void {
    this.write(`${JSON.stringify(message)}\n`)
  }

  /** Sends a request; resolves with the message that answers it. */
  async call(
    method: string,
    params: object = {},
    id: string | number = ++this.#lastId,
  ): Promise<any> {
    this.send({ jsonrpc: '2.0', id, method, params })
    return this.answer(id)
  }

  async answer(id: string | number | null): Promise<any> {
    const found = () => this.messages.find(message => message.id === id && !('method' in message))
    await this.until(() => found() !== undefined, `an answer to ${id}`)
    return found()
  }

  /** The handshake of the session transport. */
  async initialize(protocolVersion = '2025-11-25'): Promise<any> {
    const answer = await this.call(
      'initialize',
      { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
      'init',
    )
    this.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
    return answer.result
  }

  /** Params of a request at 2026-07-28. */
  stateless(params: object = {}): object {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    return { ...params, _meta }
  }

  /** Notifications of this method so far. */
  notified(method: string): any[] {
    return this.messages.filter(message => message.method === method)
  }

  /** URIs of the updates so far. */
  get updates(): string[] {
    return this.notified('notifications/resources/updated').map(({ params }) => params.uri)
  }

  async until(condition: () => boolean, what = 'what was expected'): Promise<void> {
    const late = AbortSignal.timeout(waitMs)
    late.addEventListener('abort', () => this.wake())
    while (!condition()) {
      if (late.aborted) {
        const got = this.lines.map(line => line.slice(0, 200)).join('\n')
        throw new Error(`${what} never came; lines:\n${got}\nlog:\n${this.log.join('\n')}`)
      }
      await new Promise<void>(resolve => this.#waiting.push(resolve))
    }
  }

  async end(): Promise<void> {
    this.input.end()
    this.output.resume()
    await this.ended
  }

  wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  #feed(text: string): void {
    this.#rest += text
    const lines = this.#rest.split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) {
      this.lines.push(line)
      this.messages.push(JSON.parse(line))
    }
    this.wake()
  }

  #logger(): Logger {
    const write = (level: string) => (fields: object, message?: string) => {
      this.fields.push(fields)
      this.log.push(`${level} ${message}`)
      this.wake()
    }
    return { debug: () => {}, info: write('info'), warn: write('warn'), error: write('error') }
  }
}

export interface Seen {
  readonly method: string
  readonly headers: IncomingMessage['headers']
  /** Parsed; null when there is none. */
  readonly body: any
}

export type Endpoint = Awaited<ReturnType<typeof scripted>>

export type Answering = (seen: Seen, res: ServerResponse) => void

/** An endpoint that answers as a test says, and what it was asked. */
export async function scripted(answer: Answering, port = 0) {
  const seen: Seen[] = []
  const listener: RequestListener = (req, res) => {
    const chunks: Buffer[] = []
    req.on('data', chunk => chunks.push(chunk))
    req.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8')
      const one = {
        method: req.method ?? '',
        headers: req.headers,
        body: text === '' ? null : JSON.parse(text),
      }
      seen.push(one)
      answer(one, res)
    })
    req.on('error', () => {})
  }
  const server = createServer(listener)
  const bound = await listening(server, port)
  return {
    url: `http://127.0.0.1:${bound}/mcp`,
    port: bound,
    seen,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

export function json(
  res: ServerResponse,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  res.writeHead(200, { 'Content-Type': 'application/json', ...headers })
  res.end(typeof body === 'string' ? body : JSON.stringify(body))
}

export function result(id: unknown, value: object): object {
  return { jsonrpc: '2.0', id, result: value }
}

/** Begins an event stream; the returned function sends one message on it. */
export function events(res: ServerResponse): (message: unknown) => void {
  res.writeHead(200, { 'Content-Type': 'text/event-stream' })
  res.flushHeaders()
  return message => void res.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
}

/** Answers the handshake of a session; false for what is none of it. */
export function handshake({ method, body }: Seen, res: ServerResponse, session = 's1'): boolean {
  if (method === 'DELETE') {
    res.writeHead(204).end()
    return true
  }
  if (method === 'GET') {
    res.writeHead(405).end()
    return true
  }
  if (body?.method === 'initialize') {
    const capabilities = { resources: { subscribe: true, listChanged: true } }
    const { protocolVersion } = body.params
    const serverInfo = { name: 'scripted', version: '1' }
    json(res, result(body.id, { protocolVersion, capabilities, serverInfo }), {
      'Mcp-Session-Id': session,
    })
    return true
  }
  if (body !== null && !('id' in body)) {
    res.writeHead(202).end()
    return true
  }
  return false
}
