import { type Answer, ask, Events, postHeaders } from './mcp.ts'

export const stateless = '2026-07-28'

const prefix = 'io.modelcontextprotocol/'

/** The `_meta` of a request, with other members in place of the usual ones; undefined leaves out. */
export function statelessMeta(other: Record<string, unknown> = {}): Record<string, unknown> {
  const members: Record<string, unknown> = {
    protocolVersion: stateless,
    clientInfo: { name: 'test', version: '1' },
    clientCapabilities: {},
    ...other,
  }
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [prefix + name, value]))
}

/** A request of revision 2026-07-28. */
export function statelessRequest(
  method: string,
  params: Record<string, unknown> = {},
  id: unknown = 1,
): any {
  const _meta = { ...statelessMeta(), ...(params._meta as object) }
  return { jsonrpc: '2.0', id, method, params: { ...params, _meta } }
}

/** The headers that repeat what the request says. */
export function statelessHeaders(
  method: string,
  params: Record<string, unknown> = {},
): Record<string, string> {
  const name = method === 'resources/read' ? params.uri : method === 'tools/call' && params.name
  return {
    ...postHeaders,
    'MCP-Protocol-Version': stateless,
    'Mcp-Method': method,
    ...(typeof name === 'string' ? { 'Mcp-Name': name } : {}),
  }
}

/** A request as a client of revision 2026-07-28 sends it, for `ask` or `fetch`. */
export function statelessPost(
  method: string,
  params: Record<string, unknown> = {},
  headers: Record<string, string> = {},
  id: unknown = 1,
) {
  return {
    method: 'POST',
    headers: { ...statelessHeaders(method, params), ...headers },
    body: JSON.stringify(statelessRequest(method, params, id)),
  }
}

export function callStateless(
  url: string,
  method: string,
  params?: Record<string, unknown>,
  id?: unknown,
): Promise<Answer> {
  return ask(url, statelessPost(method, params, {}, id))
}

/** Opens a listen stream; resolves when the acknowledgement is there, as `messages[0]`. */
export async function listenStateless(
  url: string,
  notifications: unknown,
  id: unknown = 1,
  extra: Record<string, string> = {},
): Promise<Events> {
  const post = statelessPost('subscriptions/listen', { notifications }, extra, id)
  const events = await Events.open(url, post.headers, post.body)
  await events.until(() => events.messages.length > 0, 'the acknowledgement')
  return events
}
