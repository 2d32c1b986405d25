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

const encodedForm = /^=\?base64\?(.*)\?=$/s
/** RFC 4648, section 4, with its padding. */
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const printable = /^[\t\x20-\x7e]*$/
/** What a header transmits unchanged; surrounding spaces, for example, get lost. */
const headerText = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The value itself, or base64 of its UTF-8 when a header cannot carry it. */
export function encodeHeaderValue(value: string): string {
  if (headerText.test(value) && !encodedForm.test(value)) return value
  return `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`
}

/**
 * Decodes an `Mcp-Name` header: plain text, or base64 of UTF-8 in `=?base64?…?=`. Null when it is
 * invalid.
 */
export function decodeHeaderValue(value: string): string | null {
  const encoded = encodedForm.exec(value)?.[1]
  if (encoded === undefined) return printable.test(value) ? value : null
  if (!base64.test(encoded)) return null
  try {
    return utf8.decode(Buffer.from(encoded, 'base64'))
  } catch {
    return null
  }
}
