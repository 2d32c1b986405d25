import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { WebSocket } from 'ws'
import { serveOnLink } from '../../src/server/join/link-server.ts'
import { Link } from '../../src/server/join/link.ts'

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
}

/** Rejects with the status of a refusal and its body. */
export function joinAs(
  base: string,
  token: string,
  { id, record, listener = (_req, res) => void res.writeHead(500).end(), headers }: JoinAsOptions,
): Promise<HostileInstance> {
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
      ws.once('open', () => {
        const link = new Link(ws, text => accepted.resolve(JSON.parse(text)))
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
