import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import type { InstanceFile } from '../../src/server/host/instance-record.ts'
import { writeInstance } from './instance-files.ts'

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

type Script = (read: HeldRead) => void

export interface ScriptedInstance {
  readonly instanceId: string
  /** Ends in `/mcp`. */
  readonly url: string
  /** What it was asked, in order. */
  readonly asked: readonly Asked[]
  /** Requests that are neither answered nor cancelled. */
  readonly open: number
  /** Streams that are open. */
  readonly streams: number
  /** Times at which a stream ended while no other was open. */
  readonly gaps: number
  /** Answers `resources/read`. */
  onRead: Script
  /** Answers `subscriptions/listen`; the default accepts. */
  onListen: Script
  /** Answers `tools/call`, `completion/complete` and `resources/list`. */
  onCall: Script
  /** Answers everything with this status, when it is set. */
  status: number | null
  /** Over every open stream. */
  send(text: string): void
  /** Cuts every open stream. */
  cut(): void
  stop(): Promise<void>
}

const calls: ReadonlySet<string> = new Set(['tools/call', 'completion/complete', 'resources/list'])

export const contentsOf = (uri: string, text = 'true', id: unknown = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, result: { contents: [{ uri, text }] } })

export const updateOf = (uri: string) =>
  `data: {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":${JSON.stringify(uri)}}}\n\n`

/** A real HTTP server with the record of an instance, which answers what the test says. */
export async function startScriptedInstance(registryDir: string): Promise<ScriptedInstance> {
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
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/mcp`
  const file: InstanceFile = await writeInstance(registryDir, { url })
  const instance: ScriptedInstance = {
    instanceId: file.record.instance_id,
    url,
    asked,
    get open() {
      return open
    },
    get streams() {
      return streams.size
    },
    get gaps() {
      return gaps
    },
    onRead: ({ res, uri, id }) => void res.end(contentsOf(uri, 'true', id)),
    onListen({ res, uris }) {
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
    onCall: ({ res, id }) => answer(res, id, {}),
    status: null,
    send(text) {
      for (const stream of streams) stream.write(text)
    },
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
