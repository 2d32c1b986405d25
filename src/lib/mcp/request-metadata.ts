import { isJsonObject, type JsonObject } from '../util/json.ts'

/**
 * Members of `_meta` in a request of 2026-07-28 (basic, `_meta`). Some are repeated in headers
 * (Streamable HTTP, request metadata).
 */
export const metaKeys = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const

/** The `_meta` of a message that names a protocol version, valid or not; null for any other. */
export function claimOf(params: JsonObject): JsonObject | null {
  const { _meta: meta } = params
  return isJsonObject(meta) && metaKeys.protocolVersion in meta ? meta : null
}

/** The member of `params` that the `Mcp-Name` header repeats, by method. */
export const namedMembers: ReadonlyMap<string, string> = new Map([
  ['resources/read', 'uri'],
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
])

/** Headers of every POST. */
export const postHeaders = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
} as const

/** The headers of a request of 2026-07-28. */
export function statelessHeaders(
  method: string,
  params: JsonObject,
  revision: string,
): Record<string, string> {
  const name = params[namedMembers.get(method) ?? '']
  return {
    ...postHeaders,
    'MCP-Protocol-Version': revision,
    'Mcp-Method': method,
    ...(typeof name === 'string' && { 'Mcp-Name': encodeHeaderValue(name) }),
  }
}

/** What a header may have as it is: visible ASCII that does not look like base64. */
const plainText = /^(?!=\?base64\?.*\?=$)[\t\x20-\x7e]*$/

/** The value itself, or base64 of its UTF-8 when a header cannot carry it. */
export function encodeHeaderValue(value: string): string {
  // Surrounding spaces get lost, and so does an empty value.
  return plainText.test(value) && value !== '' && value === value.trim() ? value : inBase64(value)
}

/** Whether the header has this value, as it is or in base64. */
export function isHeaderOf(value: string, header: string): boolean {
  return (header === value && plainText.test(value)) || header === inBase64(value)
}

function inBase64(value: string): string {
  return `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`
}
