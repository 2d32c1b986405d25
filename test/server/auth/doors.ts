import { rpc } from '../../helpers/mcp.ts'
import { statelessHeaders, statelessRequest } from '../../helpers/stateless.ts'
import { requestText } from '../../process/raw-socket.ts'

/** A request as it goes out, line by line. */
export interface Door {
  readonly title: string
  readonly start: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const accept = { Accept: 'application/json, text/event-stream' }
const json = { ...accept, 'Content-Type': 'application/json' }

function stateless(title: string, method: string, params: Record<string, unknown>): Door {
  const body = JSON.stringify(statelessRequest(method, params))
  return { title, start: 'POST /mcp', headers: statelessHeaders(method, params), body }
}

/** One request for each way to what a server keeps, on both transports. */
export function doorsOf({ sessionId, hex }: { sessionId: string; hex: string }): readonly Door[] {
  const session = { 'Mcp-Session-Id': sessionId, 'MCP-Protocol-Version': '2025-11-25' }
  const uri = 'scene://current'
  const listening = { notifications: { resourceSubscriptions: [uri] } }
  return [
    {
      title: 'a read in a session',
      start: 'POST /mcp',
      headers: { ...json, ...session },
      body: rpc('resources/read', { uri }),
    },
    {
      title: 'the stream of a session',
      start: 'GET /mcp',
      headers: { ...session, Accept: 'text/event-stream' },
      body: '',
    },
    {
      title: 'the end of a session',
      start: 'DELETE /mcp',
      headers: { ...accept, ...session },
      body: '',
    },
    stateless('a read without session', 'resources/read', { uri }),
    stateless('a listen stream', 'subscriptions/listen', listening),
    { title: 'a download', start: `GET /artefacts/sha256/${hex}`, headers: accept, body: '' },
  ]
}

/** The bytes of a request; `extra` lines come last, before the length. */
export function bytesOf(
  { start, headers, body }: Door,
  {
    host = 'Host: 127.0.0.1',
    extra = [],
    length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`],
  }: { host?: string; extra?: readonly string[]; length?: readonly string[] } = {},
): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const hosts = host === '' ? [] : [host]
  return requestText([`${start} HTTP/1.1`, ...hosts, ...lines, ...extra, ...length], body)
}
