/** Where a request is sent, and what every request to it carries. */
export interface Place {
  readonly port: number
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A place in a request text that the load generator fills with seven digits, new each time. */
export const idMark = '{id}'
/** A place in a request text that the load generator fills with a session id. */
export const sessionMark = '{session}'

const idDigits = 7

/** A complete HTTP/1.1 request; lengths count the id mark as the digits that replace it. */
export function requestText(method: string, place: Place, body = ''): string {
  const length = Buffer.byteLength(body.replaceAll(idMark, '0'.repeat(idDigits)))
  const headers = [
    `${method} ${place.path} HTTP/1.1`,
    `Host: 127.0.0.1:${place.port}`,
    ...Object.entries(place.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
    ...(method === 'GET' || method === 'DELETE' ? [] : [`Content-Length: ${length}`]),
  ]
  return `${headers.join('\r\n')}\r\n\r\n${body}`
}

/** A JSON-RPC request with the id mark. */
export function rpcText(method: string, params?: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify({ jsonrpc: '2.0', id: 0, method, ...(params ? { params } : {}) })
  return text.replace('"id":0', `"id":${idMark}`)
}

export const protocolVersion = '2025-06-18'

/** The headers of a POST in a session. */
export const sessionHeaders = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
  'Mcp-Session-Id': sessionMark,
  'MCP-Protocol-Version': protocolVersion,
} as const

/** The request text with its id mark filled; `number` is below nine million. */
export function withId(text: string, number: number): string {
  return text.replace(idMark, String(firstId + number))
}

/** The smallest id of seven digits: every request of a kind is then equally long. */
export const firstId = 1_000_000
