/** The session a request belongs to; what is set up before it is sent. */
export type SessionState =
  /** No `Mcp-Session-Id`. */
  | 'none'
  /** An id that never was one. */
  | 'unknown'
  /** One that was deleted. */
  | 'ended'
  /** One that all requests of the revision share. */
  | 'live'
  /** One of its own, for requests that change it. */
  | 'own'
  /** One of its own with an event stream open. */
  | 'streaming'

export interface Case {
  /** `topic: details`; unique. Differences name the requests they are about by it. */
  readonly name: string
  readonly method: string
  readonly session: SessionState
  /** What the session negotiated. */
  readonly revision: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

export const sessionRevisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
export const newestSession = '2025-11-25'
export const statelessRevision = '2026-07-28'

export const bothTypes = 'application/json, text/event-stream'

type Variant = Partial<Omit<Case, 'headers'>> & {
  name: string
  /** Null takes a header away that is sent otherwise. */
  headers?: Readonly<Record<string, string | null>>
}

/** A POST of a session, as every client sends it, with what the variant changes. */
export function sessionPost(variant: Variant): Case {
  const usual = { 'Content-Type': 'application/json', Accept: bothTypes }
  return {
    method: 'POST',
    session: 'live',
    revision: newestSession,
    ...variant,
    headers: withHeaders(usual, variant.headers),
  }
}

export function message(members: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ jsonrpc: '2.0', ...members })
}

export function request(method: string, params?: unknown, id: unknown = 1): string {
  return message({ id, method, ...(params === undefined ? {} : { params }) })
}

export function initialize(
  params: Readonly<Record<string, unknown>> = {},
  id: unknown = 1,
): string {
  const usual = {
    protocolVersion: newestSession,
    capabilities: {},
    clientInfo: { name: 'oracle', version: '1' },
  }
  return request('initialize', { ...usual, ...params }, id)
}

/** The Cartesian product of two lists. */
export function product<A, B>(as: readonly A[], bs: readonly B[]): [A, B][] {
  return as.flatMap(a => bs.map((b): [A, B] => [a, b]))
}

/** Header values short enough to stand in a name. */
export function shown(value: string | null | undefined): string {
  return value === null || value === undefined ? 'absent' : JSON.stringify(value)
}

export function withHeaders(
  usual: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string | null>> = {},
): Record<string, string> {
  const all = Object.entries({ ...usual, ...changes })
  return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== null))
}

export const versionKey = 'io.modelcontextprotocol/protocolVersion'
export const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities'
export const clientKey = 'io.modelcontextprotocol/clientInfo'
export const logLevelKey = 'io.modelcontextprotocol/logLevel'

interface StatelessVariant {
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
export function statelessPost(variant: StatelessVariant): Case {
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
