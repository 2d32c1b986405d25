import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import type { RequestId, RpcError } from '../../lib/mcp/json-rpc.ts'
import {
  claimOf,
  decodeHeaderValue,
  metaKeys,
  namedMembers,
} from '../../lib/mcp/request-metadata.ts'
import { isJsonObject, type JsonObject } from '../../lib/util/json.ts'
import { rpcCodes } from './errors.ts'
import { type Inbound, isBatch, type NotificationMessage, type RequestMessage } from './json-rpc.ts'

/** The revisions of the stateless transport, newest first. */
export const statelessRevisions: readonly string[] = Object.freeze(['2026-07-28'])

const firstRevision = '2026-07-28'
const maxEchoedChars = 100
/** `_meta` of a request. */
const metaSchema = z.object({
  [metaKeys.protocolVersion]: z.string(),
  [metaKeys.clientCapabilities]: z.record(z.string(), z.unknown()),
  [metaKeys.clientInfo]: z.object({ name: z.string(), version: z.string() }).optional(),
  [metaKeys.logLevel]: z
    .enum(['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'])
    .optional(),
})

/**
 * Makes the first members of a result, serialised. `freshMs`: how long its client may cache it, which
 * others never may ("public"); undefined: not at all.
 */
export function createResultOpening(serverInfo: object): (freshMs?: number) => string {
  const _meta = { [metaKeys.serverInfo]: serverInfo }
  const opening = `${JSON.stringify({ resultType: 'complete', _meta }).slice(1, -1)},`
  return freshMs =>
    freshMs === undefined ? opening : `${opening}"ttlMs":${freshMs},"cacheScope":"private",`
}

/** Which transport serves a POST. */
export type Classified =
  | { readonly transport: 'session' }
  | { readonly transport: 'stateless'; readonly message: RequestMessage | NotificationMessage }
  /** It claims both transports, or half of one: 400. */
  | { readonly transport: 'none'; readonly id: RequestId | undefined; readonly error: RpcError }

const session: Classified = Object.freeze({ transport: 'session' })

/**
 * The body decides: a message whose `_meta` names a revision is for the stateless transport. The version
 * header only decides for what has no place for that, and must not promise what the body lacks.
 */
export function classify(headers: IncomingHttpHeaders, inbound: Inbound): Classified {
  const isNamed = namesStatelessRevision(headers)
  if (isBatch(inbound)) {
    return isNamed || inbound.some(hasClaim)
      ? refuse(undefined, rpcCodes.invalidRequest, 'this protocol version has no batches')
      : session
  }
  switch (inbound.kind) {
    case 'request':
      return classifyRequest(inbound, isNamed)
    case 'notification':
      return isNamed || hasClaim(inbound) ? { transport: 'stateless', message: inbound } : session
    case 'response':
      return session
    case 'invalid':
      return isNamed ? refuse(inbound.id ?? undefined, inbound.code, inbound.problem) : session
  }
}

/** Whether the version header names a revision of the stateless transport, served or not. */
export function namesStatelessRevision(headers: IncomingHttpHeaders): boolean {
  const version = headers['mcp-protocol-version']
  return typeof version === 'string' && isStatelessRevision(version)
}

/** Revisions are dates, so they compare as strings. */
function isStatelessRevision(version: string): boolean {
  return version >= firstRevision
}

function classifyRequest(message: RequestMessage, isNamed: boolean): Classified {
  const { id, method, params } = message
  const claim = claimOf(params)
  if (method === 'initialize' && !isWhole(claim)) {
    // The handshake of the session transport.
    if (!isNamed) return session
    const text = 'initialize belongs to versions before the one that MCP-Protocol-Version names'
    return refuse(id, rpcCodes.headerMismatch, text)
  }
  if (claim !== null) return { transport: 'stateless', message }
  return isNamed ? { transport: 'none', id, error: missingMeta(params) } : session
}

function isWhole(claim: JsonObject | null): boolean {
  if (claim === null || metaProblem(claim) !== null) return false
  return isStatelessRevision(String(claim[metaKeys.protocolVersion]))
}

function hasClaim(element: unknown): boolean {
  return isJsonObject(element) && isJsonObject(element.params) && claimOf(element.params) !== null
}

function refuse(id: RequestId | undefined, code: number, message: string): Classified {
  return { transport: 'none', id, error: { code, message } }
}

/**
 * Why a message is not served, or null; every failure is a 400. A request must bring its revision and
 * capabilities in the body ("basic", `_meta`), and headers that say the same, because proxies go by
 * them ("Streamable HTTP", "Request Metadata"). A notification needs neither; what it brings must agree.
 */
export function envelopeProblem(
  headers: IncomingHttpHeaders,
  {
    kind,
    method,
    params,
  }: Pick<RequestMessage | NotificationMessage, 'kind' | 'method' | 'params'>,
): RpcError | null {
  const meta = claimOf(params)
  if (kind === 'notification') {
    if (meta !== null && typeof meta[metaKeys.protocolVersion] !== 'string') {
      return invalidMeta(metaKeys.protocolVersion, 'must be a string')
    }
    return disagreement(headers, meta, method)
  }
  if (meta === null) return missingMeta(params)
  const problem = metaProblem(meta) ?? disagreement(headers, meta, method)
  if (problem !== null) return problem
  for (const header of ['MCP-Protocol-Version', 'Mcp-Method']) {
    if (headers[header.toLowerCase()] === undefined) return missingHeader(header)
  }
  return nameProblem(headers['mcp-name'], method, params)
}

/** What is wrong with the `_meta` of a request, or null. */
function metaProblem(meta: JsonObject): RpcError | null {
  const parsed = metaSchema.safeParse(meta)
  const [issue] = parsed.error?.issues ?? []
  return issue === undefined ? null : invalidMeta(String(issue.path[0]), issue.message)
}

function missingMeta(params: JsonObject): RpcError {
  const { _meta: meta } = params
  if (meta === undefined) return invalidMeta('_meta', 'is missing')
  if (!isJsonObject(meta)) return invalidMeta('_meta', 'must be an object')
  return invalidMeta(metaKeys.protocolVersion, 'is missing')
}

function invalidMeta(key: string, problem: string): RpcError {
  const where = key === '_meta' ? 'params._meta' : `params._meta["${key}"]`
  return { code: rpcCodes.invalidParams, message: `${where} ${problem}`, data: { key } }
}

/** Null when the headers that are there say what the body says, and the revision is served. */
function disagreement(
  headers: IncomingHttpHeaders,
  meta: JsonObject | null,
  method: string,
): RpcError | null {
  const { 'mcp-protocol-version': named, 'mcp-method': header } = headers
  const version = String(meta === null ? named : meta[metaKeys.protocolVersion])
  if (named !== undefined && named !== version) {
    return mismatch('MCP-Protocol-Version', `params._meta["${metaKeys.protocolVersion}"]`)
  }
  if (header !== undefined && header !== method) return mismatch('Mcp-Method', 'method')
  if (statelessRevisions.includes(version)) return null
  const supported = statelessRevisions
  const message = `this protocol version is not supported; supported: ${supported.join(', ')}`
  const data = { supported, requested: version.slice(0, maxEchoedChars) }
  return { code: rpcCodes.unsupportedVersion, message, data }
}

function nameProblem(
  header: string | string[] | undefined,
  method: string,
  params: JsonObject,
): RpcError | null {
  const member = namedMembers.get(method)
  if (member === undefined) return null
  const value = params[member]
  if (header === undefined) return typeof value === 'string' ? missingHeader('Mcp-Name') : null
  const decoded = typeof header === 'string' ? decodeHeaderValue(header) : null
  if (decoded === null) {
    const message =
      'header Mcp-Name must be visible ASCII, or =?base64?<base64 of UTF-8, padded>?= for anything else'
    return { code: rpcCodes.headerMismatch, message }
  }
  // The method answers for a member that is missing.
  return typeof value !== 'string' || decoded === value
    ? null
    : mismatch('Mcp-Name', `params.${member}`)
}

function missingHeader(header: string): RpcError {
  const message = `header ${header} is missing: every request of this protocol version needs it`
  return { code: rpcCodes.headerMismatch, message }
}

function mismatch(header: string, member: string): RpcError {
  const message = `header ${header} says something else than "${member}" of the body`
  return { code: rpcCodes.headerMismatch, message }
}
