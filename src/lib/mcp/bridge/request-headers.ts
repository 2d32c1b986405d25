import { type JsonObject, isJsonObject } from '../../util/json.ts'
import { encodeHeaderValue, isHeaderText } from '../header-value.ts'
import { claimOf, metaKeys, namedMember } from '../request-metadata.ts'

/** A client of 2026-07-28 names its revision in every request; those of sessions never do. */
export function isStateless(params: JsonObject): boolean {
  return claimOf(params) !== null
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
    ...(typeof version === 'string' && isHeaderText(version)
      ? { 'MCP-Protocol-Version': version }
      : {}),
    ...(isHeaderText(method) ? { 'Mcp-Method': method } : {}),
    ...(name === null ? {} : { 'Mcp-Name': encodeHeaderValue(name) }),
  }
}

function nameOf(method: string, params: JsonObject): string | null {
  const member = namedMember(method)
  const value = member === undefined ? null : params[member]
  return typeof value === 'string' ? value : null
}
