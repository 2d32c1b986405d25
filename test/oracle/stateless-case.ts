import { bothTypes, type Case, statelessRevision, newestSession, withHeaders } from './case.ts'

export const versionKey = 'io.modelcontextprotocol/protocolVersion'
export const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities'
export const clientKey = 'io.modelcontextprotocol/clientInfo'
export const logLevelKey = 'io.modelcontextprotocol/logLevel'

interface Variant {
  name: string
  rpc?: string
  params?: Readonly<Record<string, unknown>>
  /** Members of `_meta`; undefined takes one away. Null: no `_meta` at all. */
  meta?: Readonly<Record<string, unknown>> | null
  id?: unknown
  /** Null takes a header away that is sent otherwise. */
  headers?: Readonly<Record<string, string | null>>
  body?: string
  session?: Case['session']
  notification?: boolean
}

/** A POST of 2026-07-28, as every client sends it, with what the variant changes. */
export function statelessPost(variant: Variant): Case {
  const {
    name,
    rpc = 'server/discover',
    params = {},
    meta = {},
    headers,
    session = 'none',
  } = variant
  const usualMeta = {
    [versionKey]: statelessRevision,
    [capabilitiesKey]: {},
    [clientKey]: { name: 'oracle', version: '1' },
  }
  const all = meta === null ? params : { ...params, _meta: { ...usualMeta, ...meta } }
  const id = variant.notification === true ? {} : { id: variant.id === undefined ? 1 : variant.id }
  const named = params.uri ?? params.name
  const usualHeaders = {
    'Content-Type': 'application/json',
    Accept: bothTypes,
    'MCP-Protocol-Version': statelessRevision,
    'Mcp-Method': rpc,
    ...(needsName.test(rpc) && typeof named === 'string' ? { 'Mcp-Name': headerValue(named) } : {}),
  }
  return {
    name,
    method: 'POST',
    session,
    revision: newestSession,
    headers: withHeaders(usualHeaders, headers),
    body: variant.body ?? JSON.stringify({ jsonrpc: '2.0', ...id, method: rpc, params: all }),
  }
}

const needsName = /^(resources\/read|tools\/call|prompts\/get)$/

/** As the transport says: text that is no plain ASCII goes as base64. */
function headerValue(text: string): string {
  return /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) ? text : sentinel(text)
}

export function sentinel(text: string): string {
  return `=?base64?${Buffer.from(text).toString('base64')}?=`
}
