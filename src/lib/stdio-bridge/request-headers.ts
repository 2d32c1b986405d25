import { type JsonObject, isJsonObject } from '../json.ts'

/** Keys of `params._meta` at 2026-07-28, of requests and of what belongs to a subscription. */
export const metaKeys = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const

const headerText = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/
const sentinel = /^=\?base64\?.*\?=$/

/** A client of 2026-07-28 names its revision in every request; those of sessions never do. */
export function isStateless(params: JsonObject): boolean {
  const { _meta: meta } = params
  return isJsonObject(meta) && metaKeys.protocolVersion in meta
}

/**
 * What 2026-07-28 wants repeated in headers ("Streamable HTTP", request metadata). What no header
 * can carry is left out: the server then says what is wrong.
 */
export function statelessHeaders(method: string, params: JsonObject): Record<string, string> {
  const meta = isJsonObject(params._meta) ? params._meta : {}
  const version = meta[metaKeys.protocolVersion]
  const name = nameOf(method, params)
  return {
    ...(typeof version === 'string' && headerText.test(version)
      ? { 'MCP-Protocol-Version': version }
      : {}),
    ...(headerText.test(method) ? { 'Mcp-Method': method } : {}),
    ...(name === null ? {} : { 'Mcp-Name': encodeHeaderValue(name) }),
  }
}

function nameOf(method: string, params: JsonObject): string | null {
  const value =
    method === 'resources/read'
      ? params.uri
      : method === 'tools/call' || method === 'prompts/get'
        ? params.name
        : null
  return typeof value === 'string' ? value : null
}

/** Itself where a header can carry it and it is not taken for the other form: base64 of its UTF-8. */
export function encodeHeaderValue(value: string): string {
  if (headerText.test(value) && !sentinel.test(value)) return value
  return `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`
}
