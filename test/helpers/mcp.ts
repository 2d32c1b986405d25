import { dataKey } from '../../src/lib/mcp/call-meta.ts'
import { request as plainRequest, Agent, type IncomingMessage, type ClientRequest } from 'node:http'
import { request as secureRequest, Agent as SecureAgent } from 'node:https'
import { once } from 'node:events'
import { atEnd, stoppedAtEnd } from './cleanup.ts'
import { McpHttpServer } from '../../src/server/mcp-http-server.ts'
import type { McpHttpConfig, ServerParts } from '../../src/server/mcp-http-config.ts'

export interface Answer {
  status: number
  headers: IncomingMessage['headers']
  text: string
  /** The body parsed as JSON; undefined when it is empty or none. */
  json: any
}

export interface Ask {
  method?: string
  headers?: Record<string, string | string[]>
  body?: string | Buffer
  /** A certificate that is trusted. */
  ca?: string
}

/**
 * Idle connections end here before the server closes them, which a busy test would notice too late:
 * after 10 s (servers wait for 30), and 3 s before what an answer announces. Without `timeout` an
 * agent does not look at the latter.
 */
const pool = { keepAlive: true, maxSockets: 50, timeout: 10_000, agentKeepAliveTimeoutBuffer: 3000 }
const plainAgent = new Agent(pool)
/** Certificates of tests are trusted by `trust`, or per request. */
const secureAgent = new SecureAgent(pool)

const isSecure = (url: string) => url.startsWith('https:')
const requestOf = (url: string) => (isSecure(url) ? secureRequest : plainRequest)

/** One plain HTTP request, nothing added but what is given (and Host). */
export async function ask(
  url: string,
  { method = 'GET', headers = {}, body, ca }: Ask = {},
): Promise<Answer> {
  const agent = isSecure(url) ? secureAgent : plainAgent
  const trust = ca === undefined ? {} : { ca }
  const req = requestOf(url)(url, { method, headers, agent, ...trust })
  req.end(body)
  const [res] = (await once(req, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of res) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString('utf8')
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    json = undefined
  }
  return { status: res.statusCode ?? 0, headers: res.headers, text, json }
}

/** Headers that every revision's client sends with a POST. */
export const postHeaders = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
}

export function rpc(method: string, params?: unknown, id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) })
}

/** Params of a call by a program, which wants the answer as data, too. */
export function toolCall(name: string, args: object = {}) {
  return { name, arguments: args, _meta: { [dataKey]: true } }
}

export function initializeBody(protocolVersion = '2025-11-25'): string {
  return rpc('initialize', {
    protocolVersion,
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  })
}

/** Asks for a session, and gives the answer whatever it is. */
export function initialize(url: string, headers: Record<string, string> = {}): Promise<Answer> {
  const all = { ...postHeaders, ...headers }
  return ask(url, { method: 'POST', headers: all, body: initializeBody() })
}

/** A session on a running server, spoken with bare HTTP. */
export class RawSession {
  readonly url: string
  readonly headers: Record<string, string>
  #lastId = 0

  private constructor(url: string, headers: Record<string, string>) {
    this.url = url
    this.headers = headers
  }

  static async open(
    url: string,
    revision = '2025-11-25',
    extra: Record<string, string> = {},
  ): Promise<RawSession> {
    const headers = { ...postHeaders, ...extra }
    const answer = await ask(url, { method: 'POST', headers, body: initializeBody(revision) })
    const id = answer.headers['mcp-session-id']
    if (answer.status !== 200 || typeof id !== 'string')
      throw new Error(`initialize: ${answer.text}`)
    const session = new RawSession(url, { ...headers, 'Mcp-Session-Id': id })
    await session.post(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }))
    return session
  }

  get id(): string {
    return this.headers['Mcp-Session-Id'] ?? ''
  }

  post(body: string, headers: Record<string, string> = {}): Promise<Answer> {
    return ask(this.url, { method: 'POST', headers: { ...this.headers, ...headers }, body })
  }

  /** Sends a request and returns its JSON-RPC message, result or error. */
  async call(method: string, params?: unknown): Promise<any> {
    const answer = await this.post(rpc(method, params, ++this.#lastId))
    if (answer.status !== 200) throw new Error(`${method}: HTTP ${answer.status} ${answer.text}`)
    return answer.json
  }

  /** The text of the first content of a resource, parsed as JSON. */
  async readJson(uri: string): Promise<any> {
    const { result, error } = await this.call('resources/read', { uri })
    if (error !== undefined) throw Object.assign(new Error(error.message), error)
    return JSON.parse(result.contents[0].text)
  }

  delete(): Promise<Answer> {
    const { 'Mcp-Session-Id': id = '' } = this.headers
    return ask(this.url, { method: 'DELETE', headers: { ...this.headers, 'Mcp-Session-Id': id } })
  }

  listen(): Promise<Events> {
    return Events.open(this.url, { ...this.headers, Accept: 'text/event-stream' })
  }
}

/** A stream and the notifications that came over it. */
export class Events {
  readonly messages: any[] = []
  readonly response: IncomingMessage
  readonly #request: ClientRequest
  #buffer = ''
  #ended = false
  #waiting: (() => void)[] = []

  private constructor(request: ClientRequest, response: IncomingMessage) {
    this.#request = request
    this.response = response
    response.setEncoding('utf8')
    response.on('data', (text: string) => this.#feed(text))
    response.on('close', () => {
      this.#ended = true
      this.#wake()
    })
    response.on('error', () => {})
  }

  /** With a body it is a POST. The stream is closed at the end. */
  static async open(url: string, headers: Record<string, string>, body?: string): Promise<Events> {
    const method = body === undefined ? 'GET' : 'POST'
    const req = requestOf(url)(url, { method, headers, agent: false })
    req.on('error', () => {})
    req.end(body)
    const [res] = (await once(req, 'response')) as [IncomingMessage]
    if (res.headers['content-type'] !== 'text/event-stream') {
      let text = ''
      for await (const chunk of res.setEncoding('utf8')) text += chunk
      throw new Error(`${method}: HTTP ${res.statusCode} ${text}`)
    }
    atEnd(() => req.destroy())
    return new Events(req, res)
  }

  /** URIs of the updates so far. */
  get updates(): string[] {
    return this.messages
      .filter(message => message.method === 'notifications/resources/updated')
      .map(message => message.params.uri)
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Resolves when the condition holds; fails when the stream ends or the deadline passes before. */
  async until(condition: () => boolean, what = 'the expected messages'): Promise<void> {
    const deadline = setTimeout(() => this.close(), 55_000)
    try {
      while (!condition()) {
        if (this.#ended) throw new Error(`${what} never came; got ${JSON.stringify(this.messages)}`)
        await new Promise<void>(resolve => this.#waiting.push(resolve))
      }
    } finally {
      clearTimeout(deadline)
    }
  }

  async untilEnded(): Promise<void> {
    while (!this.#ended) await new Promise<void>(resolve => this.#waiting.push(resolve))
  }

  close(): void {
    this.#request.destroy()
  }

  #feed(text: string): void {
    this.#buffer += text
    for (let end = this.#buffer.indexOf('\n\n'); end !== -1; end = this.#buffer.indexOf('\n\n')) {
      const event = this.#buffer.slice(0, end)
      this.#buffer = this.#buffer.slice(end + 2)
      const data = event.split('\n').find(line => line.startsWith('data: '))
      if (data !== undefined) this.messages.push(JSON.parse(data.slice(6)))
    }
    this.#wake()
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

export type TestServer = Awaited<ReturnType<typeof startServer>>

/** A configuration in which a test may replace every bound, not only the public ones. */
export type TestConfig = Omit<McpHttpConfig, 'limits'> & Pick<ServerParts, 'limits'>

/** Starts the real server on a free port. Wire producers in `prepare`, before the start. */
export async function startServer(
  { limits = {}, ...config }: TestConfig = {},
  services: ServerParts = {},
  prepare: (server: McpHttpServer) => void = () => {},
) {
  const server = new McpHttpServer(config, { limits, ...services })
  prepare(server)
  const { url } = await server.start()
  return {
    url,
    base: url.slice(0, -'/mcp'.length),
    server,
    stop: stoppedAtEnd(() => server.stop()),
  }
}
