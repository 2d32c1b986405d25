import type { IncomingHttpHeaders } from 'node:http'
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import { postHeaders } from './context.ts'

/** A session as negotiated by `initialize`. */
export interface Session {
  /** Null when the server assigns none. */
  readonly id: string | null
  readonly revision: string
  /** Whether the server announces updated resources, and changes of the resource list. */
  readonly pushes: { readonly updates: boolean; readonly list: boolean }
}

/** The session of an `initialize` result; null when the result is invalid. */
export function openedSession(result: JsonObject, headers: IncomingHttpHeaders): Session | null {
  const { protocolVersion, capabilities } = result
  if (typeof protocolVersion !== 'string' || !/^[\x21-\x7e]{1,64}$/.test(protocolVersion)) {
    return null
  }
  const resources = isJsonObject(capabilities) ? capabilities.resources : undefined
  const offered = isJsonObject(resources) ? resources : {}
  const id = headers['mcp-session-id']
  return {
    id: typeof id === 'string' && /^[\x21-\x7e]{1,1024}$/.test(id) ? id : null,
    revision: protocolVersion,
    pushes: { updates: offered.subscribe === true, list: offered.listChanged === true },
  }
}

/** The first revision with the `MCP-Protocol-Version` header. */
const firstWithHeader = '2025-06-18'

/** Headers of a request in the session; null before a session. */
export function sessionHeaders(session: Session | null): Record<string, string> {
  if (session === null) return postHeaders
  const { id, revision } = session
  return {
    ...postHeaders,
    ...(id !== null && { 'Mcp-Session-Id': id }),
    ...(revision >= firstWithHeader && { 'MCP-Protocol-Version': revision }),
  }
}
