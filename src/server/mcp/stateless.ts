import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import type { RpcError } from '../../lib/mcp/json-rpc.ts'
import { claimOf, isHeaderOf, metaKeys, namedMembers } from '../../lib/mcp/request-metadata.ts'
import { isJsonObject, type JsonObject } from '../../lib/util/json.ts'
import { rpcCodes } from './errors.ts'
import { serverInfo } from './instructions.ts'
import type { Inbound } from './json-rpc.ts'

/** The revisions of the stateless transport, newest first. */
export const statelessRevisions: readonly string[] = ['2026-07-28']

const firstRevision = '2026-07-28'
const maxEchoedChars = 100

/** The params of a request. */
const paramsSchema = z.object({
  _meta: z.object({
    [metaKeys.protocolVersion]: z.string(),
    [metaKeys.clientCapabilities]: z.record(z.string(), z.unknown()),
    [metaKeys.clientInfo]: z.object({ name: z.string(), version: z.string() }).optional(),
    [metaKeys.logLevel]: z
      .enum(['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'])
      .optional(),
  }),
})

const _meta = { [metaKeys.serverInfo]: serverInfo }
const opening = `${JSON.stringify({ resultType: 'complete', _meta }).slice(1, -1)},`

/**
 * The first members of a result, serialised. `freshMs`: how long its client may cache it, which
 * others never may ("public"); undefined: not at all.
 */
export function resultOpening(freshMs?: number): string {
  return freshMs === undefined ? opening : `${opening}"ttlMs":${freshMs},"cacheScope":"private",`
}

/**
 * Whether a POST is of the stateless transport. The body decides: a message whose `_meta` names a
 * revision is. The version header only decides for what has no place for that, and must not promise
 * what the body lacks.
 */
export function isStateless(headers: IncomingHttpHeaders, inbound: Inbound): boolean {
  const isNamed = namesStatelessRevision(headers)
  if (inbound.kind === 'response') return false
  if (inbound.kind === 'batch') return isNamed || inbound.elements.some(hasClaim)
  if (inbound.kind === 'invalid' || isNamed) return isNamed
  // Initialize is the handshake of the session transport.
  return inbound.method !== 'initialize' && claimOf(inbound.params) !== null
}

/** Whether the version header names a revision of the stateless transport, served or not. */
export function namesStatelessRevision(headers: IncomingHttpHeaders): boolean {
  const version = headers['mcp-protocol-version']
  // Revisions are dates, so they compare as strings.
  return typeof version === 'string' && version >= firstRevision
}

function hasClaim(element: unknown): boolean {
  return isJsonObject(element) && isJsonObject(element.params) && claimOf(element.params) !== null
}

/**
 * Why a message is not served, or null; every failure is a 400. A request must bring its revision and
 * capabilities in the body ("basic", `_meta`), and headers that say the same, because proxies go by
 * them ("Streamable HTTP", "Request Metadata"). A notification needs neither; what it brings must agree.
 */
export function envelopeProblem(headers: IncomingHttpHeaders, inbound: Inbound): RpcError | null {
  if (inbound.kind === 'response') return null
  if (inbound.kind === 'invalid') return { code: inbound.code, message: inbound.problem }
  if (inbound.kind === 'batch') {
    return { code: rpcCodes.invalidRequest, message: 'this protocol version has no batches' }
  }
  const { kind, method, params } = inbound
  const claim = claimOf(params)
  if (kind === 'notification') {
    if (claim !== null && typeof claim[metaKeys.protocolVersion] !== 'string') {
      return metaProblem(params)
    }
    return disagreement(headers, claim, method)
  }
  if (method === 'initialize' && claim === null) {
    const message = 'initialize belongs to versions before the one that MCP-Protocol-Version names'
    return { code: rpcCodes.headerMismatch, message }
  }
  const problem = metaProblem(params) ?? disagreement(headers, claim, method)
  if (problem !== null) return problem
  for (const header of ['MCP-Protocol-Version', 'Mcp-Method']) {
    if (headers[header.toLowerCase()] === undefined) return missingHeader(header)
  }
  return nameProblem(headers['mcp-name'], method, params)
}

/** What is wrong with the `_meta` of a request, or null. */
function metaProblem(params: JsonObject): RpcError | null {
  const issue = paramsSchema.safeParse(params).error?.issues[0]
  if (issue === undefined) return null
  const key = String(issue.path[1] ?? '_meta')
  const where = key === '_meta' ? 'params._meta' : `params._meta["${key}"]`
  const message = `${where}: ${issue.message}`
  return { code: rpcCodes.invalidParams, message, data: { key } }
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
  // The method answers for a member that is missing.
  return typeof value !== 'string' || isHeaderOf(value, String(header))
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
