import { isUtf8 } from 'node:buffer'
import { isJsonObject, type JsonObject, parseJson } from '../../util/json.ts'
import type { RequestId, RpcError } from '../json-rpc.ts'

/** For an error without a request, `id` is null, or undefined in 2026-07-28, which omits it. */
export function errorMessage(
  id: RequestId | null | undefined,
  { code, message, data }: RpcError,
): Buffer {
  const error = data === undefined ? { code, message } : { code, message, data }
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, error }))
}

export function notificationMessage(method: string, params?: JsonObject): Buffer {
  const members = params === undefined ? {} : { params }
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', method, ...members }))
}

export function requestMessage(id: RequestId, method: string, params: JsonObject): Buffer {
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
}

/** `JSON.stringify` fails for values that are nested some thousand levels deep. */
const maxDepth = 1000

/** The JSON value of a text in UTF-8; undefined for anything else, and beyond `maxDepth`. */
export function parseBytes(bytes: Buffer): unknown {
  const parsed = isUtf8(bytes) ? parseJson(bytes.toString('utf8'), maxDepth) : null
  return parsed?.ok ? parsed.value : undefined
}

/** Empty when absent or invalid. */
export function paramsOf({ params }: JsonObject): JsonObject {
  return isJsonObject(params) ? params : {}
}
