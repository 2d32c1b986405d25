import { LinkTransport } from '../../src/server/gateway/join/link-transport.ts'
import { serveOnLink } from '../../src/server/join/link-server.ts'
import { Link } from '../../src/server/join/link.ts'
import { McpHttpServer } from '../../src/server/mcp-http-server.ts'
import { randomUUID } from 'node:crypto'
import {
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
  createServer,
} from 'node:http'
import type { Socket } from 'node:net'
import { WebSocket, WebSocketServer } from 'ws'
import { atEnd, stoppedAtEnd } from './cleanup.ts'
import { listening } from './listening.ts'

/** The instance end of a link, answering what a test says. */
export interface HostileInstance {
  readonly link: Link
  readonly socket: Socket
  /** Resolves with the first message of the gateway. */
  readonly accepted: Promise<any>
}

interface JoinAsOptions {
  readonly id: string
  /** What it sends as its record; nothing by default. */
  readonly record?: object | string
  readonly listener?: RequestListener
  readonly headers?: Record<string, string>
  readonly pingMs?: number
}

/** Rejects with the status of a refusal and its body. */
export function joinAs(
  base: string,
  token: string,
  options: JoinAsOptions,
): Promise<HostileInstance> {
  const { id, record, headers, pingMs } = options
  const { listener = (_req, res) => void res.writeHead(500).end() } = options
  const ws = new WebSocket(`${base.replace(/^http/, 'ws')}/join`, 'service-join.v1', {
    perMessageDeflate: false,
    headers: { Authorization: `Bearer ${token}`, 'Service-Instance': id, ...headers },
  })
  const accepted = Promise.withResolvers<any>()
  return new Promise((resolve, reject) => {
    ws.once('unexpected-response', (_req, refused) => {
      let body = ''
      refused.on('data', chunk => (body += String(chunk)))
      refused.once('end', () => reject(new Error(`HTTP ${refused.statusCode} ${body}`)))
    })
    ws.on('error', reject)
    ws.once('upgrade', ({ socket }) => {
      atEnd(() => socket.destroy())
      ws.once('open', () => {
        const link = new Link(ws, text => accepted.resolve(JSON.parse(text)), pingMs)
        serveOnLink(link, listener)
        if (record !== undefined) {
          link.sendText(typeof record === 'string' ? record : JSON.stringify(record))
        }
        resolve({ link, socket, accepted: accepted.promise })
      })
    })
  })
}

/** An instance record as one tells it over its link. */
export function toldRecord(instanceId: string, more: object = {}): object {
  return {
    schema_version: 1,
    instance_id: instanceId,
    dcc_type: 'maya',
    display_name: 'scripted',
    pid: 4711,
    hostname: 'far',
    mcp_url: 'http://127.0.0.1:1/mcp',
    version: '1',
    host: { connected: false, app_pid: null, version: null, mode: null },
    scene: null,
    scene_set_at: null,
    status: 'available',
    started_at: new Date().toISOString(),
    metadata: {},
    ...more,
  }
}

export type JoinedInstance = Awaited<ReturnType<typeof joinInstance>>

interface JoinOptions {
  readonly gateway: string
  readonly token: string
  /** `visible_to` and whatever else differs. */
  readonly record?: object
  readonly id?: string
}

/** A real server behind a real link of its own, whose record the test writes. */
export async function joinInstance(options: JoinOptions) {
  const { gateway, token, id = randomUUID() } = options
  const named = { instance_id: id, dcc_type: 'maya', display_name: 'scripted', scene: null }
  const instance = () => named
  const server = new McpHttpServer({ enableTools: true }, { instance })
  await server.start()
  const stop = stoppedAtEnd(() => server.stop())
  let record = toldRecord(id, options.record)
  const { link, accepted } = await joinAs(gateway, token, {
    id,
    record,
    listener: server.linkListener(),
  })
  await accepted
  return {
    id,
    server,
    link,
    /** Tells its record anew. */
    tell(changes: object) {
      record = { ...record, ...changes }
      link.sendText(JSON.stringify(record))
    },
    setScene: (scene: object) => void server.resources().setScene(scene),
    /** Says that it stops, and stops. */
    async leave() {
      link.close(1001, 'the instance stops')
      await link.ended
      await stop()
    },
  }
}

/** The end of a gateway, so far as a test scripts it. */
export interface Joined {
  readonly transport: LinkTransport
  readonly link: Link
  readonly socket: Socket
  readonly headers: IncomingHttpHeaders
  /** The records that the instance sent. */
  readonly records: any[]
}

/** Takes every link that `refuse` does not answer with a status. */
export function acceptLinks(
  server: Server,
  refuse: () => number | null = () => null,
  pingMs?: number,
) {
  const joined: Joined[] = []
  const accepting = new WebSocketServer({ noServer: true, perMessageDeflate: false })
  let attempts = 0
  server.on('upgrade', (req, socket: Socket, head) => {
    attempts++
    const status = refuse()
    if (status !== null) {
      const body = JSON.stringify({ detail: 'the token was revoked' })
      socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
      return
    }
    atEnd(() => socket.destroy())
    accepting.handleUpgrade(req, socket, head, (ws: WebSocket) => {
      const records: any[] = []
      const link = new Link(ws, text => records.push(JSON.parse(text)), pingMs)
      const transport = new LinkTransport(link)
      joined.push({ transport, link, socket, headers: req.headers, records })
    })
  })
  return { joined, attempts: () => attempts }
}

/** A gateway at an address of this machine that takes every link. */
export async function startScriptedGateway(host: string, port = 0) {
  const server = createServer()
  const links = acceptLinks(server)
  return { ...links, port: await listening(server, port, host) }
}

export const accept = ({ link }: Joined) =>
  link.sendText(JSON.stringify({ owner: 'ada', team: 'fx', name: 'workstation-042' }))
