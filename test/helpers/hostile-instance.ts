import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { WebSocket } from 'ws'
import { createLinkServer } from '../../src/server/join/link-server.ts'
import { LinkSocket } from '../../src/server/join/link-socket.ts'
import { defaultBounds } from './bounds.ts'

/** The instance end of a link, answering what a test says. */
export interface HostileInstance {
  readonly link: LinkSocket
  readonly socket: Socket
}

/** Rejects with the status of a refusal and its body. */
export function joinAs(
  base: string,
  token: string,
  listener: RequestListener,
  headers: Record<string, string> = {},
): Promise<HostileInstance> {
  const ws = new WebSocket(`${base.replace(/^http/, 'ws')}/join`, 'service-join.v1', {
    perMessageDeflate: false,
    headers: { Authorization: `Bearer ${token}`, ...headers },
  })
  const answer = createLinkServer(listener, defaultBounds)
  return new Promise((resolve, reject) => {
    ws.once('unexpected-response', (_req, refused) => {
      let body = ''
      refused.on('data', chunk => (body += String(chunk)))
      refused.once('end', () => reject(new Error(`HTTP ${refused.statusCode} ${body}`)))
    })
    ws.on('error', reject)
    ws.once('upgrade', ({ socket }) => {
      ws.once('open', () => {
        const link = new LinkSocket(ws, socket, defaultBounds)
        answer(link.stream)
        resolve({ link, socket })
      })
    })
  })
}

/** Answers with this record, and everything else as `others` does. */
export function withRecord(
  record: object,
  others: RequestListener = (_req, res) => void res.writeHead(500).end(),
): RequestListener {
  return (req, res) => {
    if (req.url === '/join/v1/record') {
      res.writeHead(200).write(`${JSON.stringify(record)}\n`)
    } else if (req.url === '/join/v1/accepted') res.writeHead(204).end()
    else others(req, res)
  }
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
