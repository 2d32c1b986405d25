import type { IncomingHttpHeaders } from 'node:http'
import { type JsonObject, isJsonObject } from '../../util/json.ts'
import { postHeaders } from './context.ts'
import type { PushStream } from './push-stream.ts'

/** What `initialize` agreed on with the server, and with the client for as long as it lives. */
export interface Session {
  /** Null when the server keeps none. */
  id: string | null
  readonly revision: string
  /** Those of the client's own `initialize`. */
  readonly params: JsonObject
  /** Does the server tell of changes of its resources, and of its list of them? */
  readonly pushes: { readonly updates: boolean; readonly list: boolean }
  /** The client has said `notifications/initialized`. */
  initialized: boolean
  /** False when the server is lost, or has ended the session. */
  live: boolean
  /** The server has said that it is over. */
  ended: boolean
  stream: PushStream | null
}

/** The session that a server opened with this result, or null for a result that is none. */
export function openedSession(
  params: JsonObject,
  result: JsonObject,
  headers: IncomingHttpHeaders,
): Session | null {
  const { protocolVersion, capabilities } = result
  if (typeof protocolVersion !== 'string' || !/^[\x21-\x7e]{1,64}$/.test(protocolVersion))
    return null
  const resources = isJsonObject(capabilities) ? capabilities.resources : undefined
  const offered = isJsonObject(resources) ? resources : {}
  const id = headers['mcp-session-id']
  return {
    id: typeof id === 'string' && /^[\x21-\x7e]{1,1024}$/.test(id) ? id : null,
    revision: protocolVersion,
    params,
    pushes: { updates: offered.subscribe === true, list: offered.listChanged === true },
    initialized: false,
    live: true,
    ended: false,
    stream: null,
  }
}

/** The first revision whose clients name it in each request. */
const firstWithHeader = '2025-06-18'

/** Of a request within the session; null for one without. */
export function sessionHeaders(session: Session | null): Record<string, string> {
  if (session === null) return postHeaders
  const { id, revision } = session
  return {
    ...postHeaders,
    ...(id === null ? {} : { 'Mcp-Session-Id': id }),
    ...(revision >= firstWithHeader ? { 'MCP-Protocol-Version': revision } : {}),
  }
}
