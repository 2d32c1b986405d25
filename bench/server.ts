import { readFileSync } from 'node:fs'
import type { Child } from './child.ts'
import { makeBlob, sceneUri } from './fixture.ts'

const sessionHeaders = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
  'MCP-Protocol-Version': '2025-06-18',
} as const

/** A request that the load process sends. */
export interface Sent {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** A process that listens. */
export class Server {
  readonly name: string
  /** The MCP endpoint. */
  readonly url: string
  readonly #child: Child
  readonly #hostUrl: string
  readonly #authorization: Readonly<Record<string, string>>

  static async start(name: string, child: Child): Promise<Server> {
    return new Server(name, child, await child.firstLine())
  }

  private constructor(name: string, child: Child, line: Record<string, string>) {
    const { url = '', host_url = '', host_token_file } = line
    this.name = name
    this.url = url
    this.#child = child
    this.#hostUrl = host_url.replace(/\/$/, '')
    const token = host_token_file && readFileSync(host_token_file, 'utf8').trim()
    this.#authorization = token ? { Authorization: `Bearer ${token}` } : {}
  }

  get origin(): string {
    return new URL(this.url).origin
  }

  cpuMs(): Promise<number> {
    return this.#child.ask('cpuMs')
  }

  /** After garbage was collected. */
  residentBytes(): Promise<number> {
    return this.#child.ask('residentBytes')
  }

  /** A request of the host link. */
  host(method: string, path: string, body: string): Sent {
    const headers = { 'Content-Type': 'application/json', ...this.#authorization }
    return { method, url: `${this.#hostUrl}/v1${path}`, headers, body }
  }

  /** Puts a scene through the host link, as an application does. */
  async postScene(text: string): Promise<void> {
    await answered(this.host('POST', '/scene', text))
  }

  /** Moves one object or more; returns the scene's revision. */
  async patchScene(patch: object): Promise<number> {
    return JSON.parse(await answered(this.host('PATCH', '/scene', JSON.stringify(patch)))).revision
  }

  /** Where an artefact is stored. */
  upload(): Sent {
    const headers = { 'Content-Type': 'application/octet-stream', ...this.#authorization }
    return { method: 'POST', url: `${this.#hostUrl}/v1/artefacts`, headers }
  }

  /** Stores an artefact of `size` bytes made from `seed`; returns its URI. */
  async postArtefact(seed: number, size?: number): Promise<string> {
    return JSON.parse(await answered({ ...this.upload(), body: makeBlob(seed, size) })).uri
  }

  /** A call in a session, of this server or of one on the way to it. */
  call(session: string, method: string, params?: object, url = this.url): Sent {
    const headers = { ...sessionHeaders, 'Mcp-Session-Id': session }
    return { method: 'POST', url, headers, body: rpc(method, params) }
  }

  /** The result of a call, with the length of the whole answer. */
  async ask(
    session: string,
    method: string,
    params?: object,
  ): Promise<{ result: any; bytes: number }> {
    const text = await answered(this.call(session, method, params))
    const data = text.startsWith('{') ? text : /^data: (.*)$/m.exec(text)?.[1]
    const { result, error } = JSON.parse(data ?? 'null')
    if (result === undefined) throw new Error(`${method} failed: ${JSON.stringify(error)}`)
    return { result, bytes: Buffer.byteLength(text) }
  }

  /** Opens a session and subscribes it to `uri`; returns its id. */
  async openSession(uri = sceneUri, url = this.url): Promise<string> {
    const answer = await send(this.initialize(url))
    await answer.text()
    const session = answer.headers.get('mcp-session-id') ?? ''
    const headers = { ...sessionHeaders, 'Mcp-Session-Id': session }
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
    await answered({ method: 'POST', url, headers, body })
    await answered(this.call(session, 'resources/subscribe', { uri }, url))
    return session
  }

  initialize(url = this.url): Sent {
    const params = {
      protocolVersion: sessionHeaders['MCP-Protocol-Version'],
      capabilities: {},
      clientInfo: { name: 'bench', version: '1' },
    }
    return { method: 'POST', url, headers: sessionHeaders, body: rpc('initialize', params) }
  }

  /** The stream of a session. */
  stream(session: string, url = this.url): Sent {
    const { 'MCP-Protocol-Version': version } = sessionHeaders
    const headers = {
      Accept: 'text/event-stream',
      'MCP-Protocol-Version': version,
      'Mcp-Session-Id': session,
    }
    return { method: 'GET', url, headers }
  }
}

function rpc(method: string, params?: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}

function send({
  url,
  ...init
}: Omit<Sent, 'body'> & { body?: string | Buffer }): Promise<Response> {
  return fetch(url, { ...init, signal: AbortSignal.timeout(20_000) } as RequestInit)
}

async function answered(sent: Omit<Sent, 'body'> & { body?: string | Buffer }): Promise<string> {
  const answer = await send(sent)
  const text = await answer.text()
  if (!answer.ok)
    throw new Error(`${sent.method} ${sent.url} was answered ${answer.status} ${text}`)
  return text
}
