import { type JsonObject, isJsonObject } from '../util/json.ts'

/**
 * What a request of 2026-07-28 says of itself in its `_meta`, and again in its headers ("basic",
 * `_meta`; "Streamable HTTP", request metadata).
 */
export const metaKeys = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const

/** The `_meta` of a message that says which revision it speaks, rightly or not; null for any other. */
export function claimOf(params: JsonObject): JsonObject | null {
  const { _meta: meta } = params
  return isJsonObject(meta) && metaKeys.protocolVersion in meta ? meta : null
}

const named: ReadonlyMap<string, string> = new Map([
  ['resources/read', 'uri'],
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
])

/** The member of `params` that the `Mcp-Name` header repeats, for the methods that have one. */
export function namedMember(method: string): string | undefined {
  return named.get(method)
}
