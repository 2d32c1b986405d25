/** How a call is written in each kind of revision. */
import { protocolVersion, requestText, rpcText, sessionHeaders, type Place } from './http-text.ts'

export type Transport = 'session' | 'stateless'

export interface Call {
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

export const statelessVersion = '2026-07-28'

const key = (name: string) => `io.modelcontextprotocol/${name}`

export const metaKeys = {
  serverInfo: key('serverInfo'),
  subscriptionId: key('subscriptionId'),
} as const

const _meta = {
  [key('protocolVersion')]: statelessVersion,
  [key('clientInfo')]: { name: 'bench', version: '1' },
  [key('clientCapabilities')]: {},
}

/** The headers of a POST; in a session transport with the session mark. */
export function callHeaders(
  transport: Transport,
  { method, params }: Call,
): Record<string, string> {
  if (transport === 'session') return { ...sessionHeaders }
  const { 'Content-Type': type, Accept } = sessionHeaders
  return {
    'Content-Type': type,
    Accept,
    'MCP-Protocol-Version': statelessVersion,
    'Mcp-Method': method,
    ...(typeof params?.uri === 'string' ? { 'Mcp-Name': params.uri } : {}),
  }
}

/** The body of a POST, with the id mark. */
export function callBody(transport: Transport, { method, params }: Call): string {
  return rpcText(method, transport === 'session' ? params : { ...params, _meta })
}

/** The whole POST, with the marks that the load generator fills. */
export function callText(transport: Transport, place: Place, call: Call): string {
  const headers = { ...callHeaders(transport, call), ...place.headers }
  return requestText('POST', { ...place, headers }, callBody(transport, call))
}

/** What opens a stream of updates of `uri`: with the session mark, or with the id mark. */
export function streamText(transport: Transport, place: Place, uri: string): string {
  if (transport === 'session') {
    const { 'Mcp-Session-Id': session } = sessionHeaders
    const headers = {
      Accept: 'text/event-stream',
      'Mcp-Session-Id': session,
      'MCP-Protocol-Version': protocolVersion,
    }
    return requestText('GET', { ...place, headers })
  }
  const params = { notifications: { resourceSubscriptions: [uri] } }
  return callText(transport, place, { method: 'subscriptions/listen', params })
}
