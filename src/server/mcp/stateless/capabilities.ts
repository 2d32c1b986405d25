import { isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import { metaKeys } from '../../../lib/mcp/request-metadata.ts'
import type { RpcError } from '../../../lib/mcp/json-rpc.ts'
import { statelessRpcCodes } from './codes.ts'

/**
 * What a request needs and its `_meta` does not declare, as the error that says so; null when
 * nothing is missing ("basic", `clientCapabilities`: only what was declared may be relied on).
 */
export function missingCapabilities(required: JsonObject, params: JsonObject): RpcError | null {
  const meta = isJsonObject(params._meta) ? params._meta : {}
  const declared = meta[metaKeys.clientCapabilities]
  const missing = Object.entries(required).filter(
    ([name]) => !isJsonObject(declared) || !Object.hasOwn(declared, name),
  )
  if (missing.length === 0) return null
  const names = missing.map(([name]) => name).join(', ')
  return {
    code: statelessRpcCodes.missingCapability,
    message: `this request needs capabilities that the client did not declare: ${names}`,
    data: { requiredCapabilities: Object.fromEntries(missing) },
  }
}
