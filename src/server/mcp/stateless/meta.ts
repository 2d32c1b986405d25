import { isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import { metaKeys } from '../../../lib/mcp/request-metadata.ts'
import type { RpcError } from '../../../lib/mcp/json-rpc.ts'
import { rpcCodes, type RpcCodeTable } from '../errors.ts'
import { isContentAddressed } from '../../resources/schemes.ts'
import type { ServerIdentity } from '../request-context.ts'
import { ResultOpening } from '../json-text.ts'
import type { IncomingHttpHeaders } from 'node:http'

/** How long clients may cache `server/discover`. */
const discoverFreshMs = 10_000

/** How long clients may cache the contents of an artefact. */
const artefactFreshMs = 5 * 60_000

const logLevels: readonly unknown[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
]

/** What is wrong with the `_meta` of a request, or null. */
export function metaProblem(meta: JsonObject): RpcError | null {
  if (typeof meta[metaKeys.protocolVersion] !== 'string') {
    return invalidMeta(metaKeys.protocolVersion, 'must be a string')
  }
  if (!isJsonObject(meta[metaKeys.clientCapabilities])) {
    return invalidMeta(metaKeys.clientCapabilities, 'must be an object')
  }
  const client = meta[metaKeys.clientInfo]
  if (client !== undefined && !isImplementation(client)) {
    return invalidMeta(metaKeys.clientInfo, 'must have "name" and "version", both strings')
  }
  const level = meta[metaKeys.logLevel]
  if (level !== undefined && !logLevels.includes(level)) {
    return invalidMeta(metaKeys.logLevel, `must be one of ${logLevels.join(', ')}`)
  }
  return null
}

/** For a request whose header names the stateless revision, while its body does not. */
export function missingMeta(params: JsonObject): RpcError {
  const { _meta: meta } = params
  if (meta === undefined) return invalidMeta('_meta', 'is missing')
  if (!isJsonObject(meta)) return invalidMeta('_meta', 'must be an object')
  return invalidMeta(metaKeys.protocolVersion, 'is missing')
}

function isImplementation(value: unknown): boolean {
  return isJsonObject(value) && typeof value.name === 'string' && typeof value.version === 'string'
}

function invalidMeta(key: string, problem: string): RpcError {
  const where = key === '_meta' ? 'params._meta' : `params._meta["${key}"]`
  return { code: rpcCodes.invalidParams, message: `${where} ${problem}`, data: { key } }
}

/**
 * The opening members of every result, one text per kind of result. Never "public": a reader may
 * not be allowed to pass the result on. Live state is stale at once.
 */
export interface ResultOpenings {
  /** For results that must not be cached: they carry no hint. */
  readonly plain: ResultOpening
  readonly live: ResultOpening
  readonly discover: ResultOpening
  read(uri: unknown): ResultOpening
}

export function createResultOpenings({ name, title, version }: ServerIdentity): ResultOpenings {
  const base = {
    resultType: 'complete',
    _meta: { [metaKeys.serverInfo]: { name, title, version } },
  }
  const cached = (ttlMs: number) => new ResultOpening({ ...base, ttlMs, cacheScope: 'private' })
  const live = cached(0)
  const artefact = cached(artefactFreshMs)
  return {
    plain: new ResultOpening(base),
    live,
    discover: cached(discoverFreshMs),
    read: uri => (isContentAddressed(uri) ? artefact : live),
  }
}

/** The revisions of the stateless transport, newest first. Dates, so they compare as strings. */
export const statelessRevisions: readonly string[] = Object.freeze(['2026-07-28'])

const firstRevision = '2026-07-28'

/** Whether the version belongs to the stateless transport, served or not. */
export function isStatelessRevision(version: string): boolean {
  return version >= firstRevision
}

/** Whether the version header names a stateless revision. */
export function namesStatelessRevision(headers: IncomingHttpHeaders): boolean {
  const version = headers['mcp-protocol-version']
  return typeof version === 'string' && isStatelessRevision(version)
}

/** Codes that revision 2026-07-28 defines ("basic", "Error Codes"). */
export const statelessRpcCodes = { headerMismatch: -32020, unsupportedVersion: -32022 } as const

/** −32002 must not be sent in this transport: what does not exist is a parameter out of range. */
export const statelessCodes: RpcCodeTable = {
  resource_not_found: rpcCodes.invalidParams,
  resource_not_enabled: rpcCodes.invalidParams,
  resource_uri_invalid: rpcCodes.invalidParams,
  tool_call_invalid: rpcCodes.invalidParams,
}
