import { silentLogger } from '../../src/lib/util/logger.ts'
import {
  type DirectoryRecord,
  InstanceDirectory,
  type InstanceEntry,
  type RecordFault,
  type Verdict,
} from '../../src/server/gateway/instance-directory.ts'
import { InstanceFile, createInstanceRecord } from '../../src/server/host/instance-record.ts'
import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
  createServer,
} from 'node:http'
import { join } from 'node:path'
import { atEnd } from './cleanup.ts'
import { listening } from './listening.ts'

export interface InstanceSettings {
  /** Default: a new one. */
  readonly instanceId?: string
  readonly dccType?: string
  readonly heartbeatMs?: number
  /** Default: an address of nobody, where no probe reaches anything. */
  readonly url?: string
  /** Default: this process. */
  readonly pid?: number
}

/** A record of this very process, as `serve` keeps one. */
export async function writeInstance(
  registryDir: string,
  settings: InstanceSettings = {},
): Promise<InstanceFile> {
  const { dccType = 'maya', heartbeatMs = 5000, url = 'https://studio.example/mcp' } = settings
  const { instanceId = randomUUID() } = settings
  const instancesDir = join(registryDir, 'instances')
  await mkdir(instancesDir, { recursive: true, mode: 0o700 })
  const facts = {
    instance_id: instanceId,
    dcc_type: dccType,
    mcp_url: url,
    host_url: url.startsWith('http:') ? new URL('/host', url).href : 'http://127.0.0.1:1/host',
    host_token_file: null,
    version: '1.0.0',
  }
  const own = createInstanceRecord(facts)
  const { pid = own.pid } = settings
  const record = pid === own.pid ? own : { ...own, pid, pid_start: null }
  const file = await InstanceFile.create({ instancesDir, heartbeatMs, record, log: silentLogger })
  atEnd(() => file.remove())
  return file
}

interface Asked {
  readonly id: unknown
  readonly method: string
  readonly uri: string
  /** Of a stream. */
  readonly uris: readonly string[]
  readonly params: any
  readonly headers: IncomingHttpHeaders
}

/** A request, and the response that the test writes. */
export interface HeldRead extends Asked {
  readonly res: ServerResponse
}

export type ScriptedInstance = Awaited<ReturnType<typeof startScriptedInstance>>

const calls: ReadonlySet<string> = new Set(['tools/call', 'completion/complete', 'resources/list'])

export const contentsOf = (uri: string, text = 'true', id: unknown = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, result: { contents: [{ uri, text }] } })

export const updateOf = (uri: string) =>
  `data: {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":${JSON.stringify(uri)}}}\n\n`

/** A real HTTP server with the record of an instance, which answers what the test says. */
export async function startScriptedInstance(registryDir: string) {
  const asked: Asked[] = []
  const streams = new Set<ServerResponse>()
  let open = 0
  let gaps = 0
  const answer = (res: ServerResponse, id: unknown, result: object) => {
    res.writeHead(200, { 'Content-Type': 'application/json' })
    res.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  }

  async function respond(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (instance.status !== null) return void res.writeHead(instance.status).end()
    if (req.url === '/readyz') return void res.end()
    let body = ''
    for await (const chunk of req.setEncoding('utf8')) body += chunk
    const { id, method, params = {} } = JSON.parse(body)
    const { resourceSubscriptions: uris = [] } = params.notifications ?? {}
    const one = { id, method, uri: params.uri, uris, params, headers: req.headers }
    asked.push(one)
    if (method === 'subscriptions/listen') return instance.onListen({ ...one, res })
    open++
    res.once('close', () => open--)
    if (method === 'resources/read') return instance.onRead({ ...one, res })
    if (calls.has(method)) return instance.onCall({ ...one, res })
    if (id === undefined) return void res.writeHead(202).end()
    answer(res, id, {})
  }

  const server = createServer((req, res) => {
    req.on('error', () => {})
    res.on('error', () => {})
    void respond(req, res)
  })
  const url = `http://127.0.0.1:${await listening(server)}/mcp`
  const file: InstanceFile = await writeInstance(registryDir, { url })
  const instance = {
    instanceId: file.record.instance_id,
    /** Ends in `/mcp`. */
    url,
    /** What it was asked, in order. */
    asked,
    /** Requests that are neither answered nor cancelled. */
    get open() {
      return open
    },
    /** Streams that are open. */
    get streams() {
      return streams.size
    },
    /** Times at which a stream ended while no other was open. */
    get gaps() {
      return gaps
    },
    /** Answers `resources/read`. */
    onRead: ({ res, uri, id }: HeldRead): void => void res.end(contentsOf(uri, 'true', id)),
    /** Answers `subscriptions/listen`; the default accepts. */
    onListen({ res, uris }: HeldRead): void {
      streams.add(res)
      res.on('close', () => {
        streams.delete(res)
        if (streams.size === 0) gaps++
      })
      const params = { notifications: { resourceSubscriptions: uris } }
      const method = 'notifications/subscriptions/acknowledged'
      res.writeHead(200, { 'Content-Type': 'text/event-stream' })
      res.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method, params })}\n\n`)
    },
    /** Answers `tools/call`, `completion/complete` and `resources/list`. */
    onCall: ({ res, id }: HeldRead): void => answer(res, id, {}),
    /** Answers everything with this status, when it is set. */
    status: null as number | null,
    /** Over every open stream. */
    send(text: string) {
      for (const stream of streams) stream.write(text)
    },
    /** Cuts every open stream. */
    cut() {
      for (const stream of streams) stream.destroy()
    },
    async stop() {
      await file.remove()
      server.closeAllConnections()
      server.close()
    },
  }
  return instance
}

/** A directory of instances that a test fills by hand. */
export class MemoryDirectory extends InstanceDirectory {
  listening = 0

  override onChange(notify: Parameters<InstanceDirectory['onChange']>[0]): () => void {
    const stop = super.onChange(notify)
    this.listening++
    return () => {
      stop()
      this.listening--
    }
  }

  /** Adds the instances, or replaces those of the same id; told at once, together. */
  put(...entries: readonly InstanceEntry[]): void {
    this.update(entries.map(entry => [entry.record.instance_id, { entry }]))
  }

  /** Another verdict on an instance that is there. */
  judge(instanceId: string, health: Verdict['health'], reason: string): void {
    const entry = this.entryOf(instanceId)
    if (entry === undefined) throw new Error(`no instance ${instanceId}`)
    this.put({ ...entry, verdict: { ...entry.verdict, health, reason } })
  }

  remove(instanceId: string): void {
    this.update([[instanceId, {}]])
  }

  fault(fault: RecordFault): void {
    this.update([[fault.source, { fault }]])
  }
}

/** A live instance of Blender, but for what is given. */
export function entry(
  record: Partial<DirectoryRecord> = {},
  verdict: Partial<Verdict> = {},
): InstanceEntry {
  return Object.freeze<InstanceEntry>({
    record: {
      schema_version: 1,
      instance_id: randomUUID(),
      dcc_type: 'blender',
      display_name: 'Blender on desk',
      pid: 4711,
      pid_start: '100',
      hostname: 'desk',
      mcp_url: 'http://127.0.0.1:8765/mcp',
      host_url: 'http://127.0.0.1:8765/host',
      host_token_file: null,
      version: '0.1.0',
      host: { connected: true, app_pid: 4712, version: '4.2.0', mode: 'gui' },
      scene: '/shots/010/layout.blend',
      scene_set_at: null,
      status: 'available',
      started_at: '2026-01-02T03:04:05.678Z',
      metadata: {},
      ...record,
    },
    verdict: {
      health: 'live',
      reason: 'its heartbeat is fresh',
      heartbeatMs: Date.parse('2026-01-02T04:05:06.789Z'),
      ...verdict,
    },
  })
}
