import { type JsonObject, isJsonObject } from '../../../lib/util/json.ts'
import { metaKeys } from '../../../lib/mcp/request-metadata.ts'
import type { RpcError } from '../../../lib/mcp/json-rpc.ts'
import { rpcCodes } from '../errors.ts'

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

/** For a request whose header names the era, while its body does not. */
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
