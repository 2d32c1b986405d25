import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { request } from 'undici'
import { end } from '../test/clients/serve.ts'
import { makeBlob } from './fixture.ts'

export interface Sent {
  readonly origin: string
  readonly path: string
  readonly method: 'GET' | 'POST' | 'PATCH'
  readonly headers: Record<string, string>
  readonly body?: string | Buffer
}

const probe = new URL('servers/probe.ts', import.meta.url).href
const json = { 'Content-Type': 'application/json' } as const
const mcpHeaders = {
  ...json,
  Accept: 'application/json, text/event-stream',
  'MCP-Protocol-Version': '2025-06-18',
} as const

/** A process that listens, and the requests that can be sent to it. */
export class Server {
  readonly name: string
  /** Its working directory. */
  readonly folder: string
  origin = ''
  instanceId = ''
  readonly #child: ChildProcess
  readonly #gone: Promise<never>
  #hostHeaders: Record<string, string> = {}

  constructor(
    name: string,
    [program = '', ...args]: readonly string[],
    { folder, env }: { folder: string; env: NodeJS.ProcessEnv },
  ) {
    this.name = name
    this.folder = folder
    const logFile = join(folder, `${name}.log`)
    const log = openSync(logFile, 'w')
    const stdio = ['ignore', 'pipe', log, 'ipc'] as const
    const execArgv = ['--import', probe]
    this.#child = fork(program, args, { cwd: folder, env, execArgv, stdio: [...stdio] })
    closeSync(log)
    this.#gone = once(this.#child, 'exit').then(() => {
      throw new Error(`${name} ended: ${readFileSync(logFile, 'utf8').slice(-1000)}`)
    })
    this.#gone.catch(() => {})
  }

  /** Rejects when the program ends instead. */
  async listening(): Promise<this> {
    const lines = createInterface({ input: this.#child.stdout as Readable })
    const [line] = await Promise.race([once(lines, 'line'), this.#gone])
    const announced = JSON.parse(line)
    this.origin = new URL(announced.url).origin
    this.instanceId = announced.instance_id
    if (announced.host_token_file !== undefined) {
      const token = readFileSync(announced.host_token_file, 'utf8').trim()
      this.#hostHeaders = { Authorization: `Bearer ${token}` }
    }
    return this
  }

  /** CPU time of all threads since the start; resident memory after garbage was collected. */
  async usage(of: 'cpuMs' | 'residentBytes'): Promise<number> {
    this.#child.send(of)
    const [answer] = await Promise.race([once(this.#child, 'message'), this.#gone])
    return answer as number
  }

  async stop(): Promise<void> {
    await end(this.#child)
  }

  /** A request of the host link, as an application makes it. */
  host(method: Sent['method'], path: string, body: string | Buffer): Sent {
    const { origin } = this
    const type = typeof body === 'string' ? json : { 'Content-Type': 'application/octet-stream' }
    const headers = { ...type, ...this.#hostHeaders }
    return { origin, path: `/host/v1${path}`, method, headers, body }
  }

  async postScene(text: string): Promise<void> {
    await answered(this.host('POST', '/scene', text))
  }

  /** Stores an artefact of `size` bytes made from `seed`; returns its URI. */
  async postArtefact(seed: number, size?: number): Promise<string> {
    return JSON.parse(await answered(this.host('POST', '/artefacts', makeBlob(seed, size)))).uri
  }

  initialize(): Sent {
    const clientInfo = { name: 'bench', version: '1' }
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
    return this.#mcp({ id: 1, method: 'initialize' }, params)
  }

  /** A call in a session. */
  call(session: string, method: string, params?: object): Sent {
    return this.#mcp({ id: 1, method }, params, session)
  }

  /** Of a session. */
  eventStream(session: string): Sent {
    const { body: _, ...call } = this.call(session, '')
    return { ...call, method: 'GET' }
  }

  /** Returns its id. */
  async openSession(): Promise<string> {
    const { headers, body } = await request(this.origin, this.initialize())
    await body.dump()
    const session = String(headers['mcp-session-id'])
    await answered(this.#mcp({ method: 'notifications/initialized' }, undefined, session))
    return session
  }

  #mcp(message: { id?: number; method: string }, params?: object, session?: string): Sent {
    const headers = { ...mcpHeaders, ...(session && { 'Mcp-Session-Id': session }) }
    const body = JSON.stringify({ jsonrpc: '2.0', ...message, params })
    return { origin: this.origin, path: '/mcp', method: 'POST', headers, body }
  }
}

/** Sends a request of the set-up and returns the text of the answer; throws when it is no success. */
export async function answered(sent: Sent): Promise<string> {
  const { statusCode, body } = await request(sent.origin, sent)
  const text = await body.text()
  if (statusCode < 300) return text
  throw new Error(`${sent.method} ${sent.path} was answered ${statusCode} ${text}`)
}

/** The result of a call; throws when it has none. */
export async function resultOf(call: Sent): Promise<any> {
  const text = await answered(call)
  const data = text.startsWith('{') ? text : /^data: (.*)$/m.exec(text)?.[1]
  const { result, error } = JSON.parse(data ?? 'null')
  if (result === undefined) throw new Error(`a call failed: ${JSON.stringify(error)}`)
  return result
}
