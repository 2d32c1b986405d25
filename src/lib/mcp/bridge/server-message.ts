import { type JsonObject, isJsonObject } from '../../util/json.ts'
import { type RequestId, isRequestId, type RpcError } from '../json-rpc.ts'
import { paramsOf, parseBytes } from './rpc.ts'

/** The parts of a server message that the bridge uses. */
export type ServerMessage =
  | {
      readonly kind: 'response'
      /** Null for an error that belongs to no request. */
      readonly id: RequestId | null
      readonly result: JsonObject | null
      readonly error: RpcError | null
    }
  | {
      readonly kind: 'request'
      readonly id: RequestId
      readonly method: string
      readonly params: JsonObject
    }
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject }

/** Parses a message or a batch. Null when any message is invalid. */
export function parseServerText(bytes: Buffer): ServerMessage[] | null {
  const value = parseBytes(bytes)
  const elements: readonly unknown[] = Array.isArray(value) ? value : [value]
  const messages = elements.map(parseOne)
  return messages.length > 0 && messages.every(message => message !== null) ? messages : null
}

function parseOne(value: unknown): ServerMessage | null {
  if (!isJsonObject(value) || value.jsonrpc !== '2.0') return null
  const { id = null, method, result, error } = value
  if (typeof method === 'string') {
    const asked = { method, params: paramsOf(value) }
    if (!('id' in value)) return { kind: 'notification', ...asked }
    return isRequestId(id) ? { kind: 'request', id, ...asked } : null
  }
  if (id !== null && !isRequestId(id)) return null
  if (isJsonObject(error)) {
    const rpcError = parseError(error)
    return rpcError === null ? null : { kind: 'response', id, result: null, error: rpcError }
  }
  if (id === null || !isJsonObject(result)) return null
  return { kind: 'response', id, result, error: null }
}

function parseError({ code, message, data }: JsonObject): RpcError | null {
  if (typeof code !== 'number' || typeof message !== 'string') return null
  return { code, message, ...(isJsonObject(data) ? { data } : {}) }
}

/** True when a valid text is a batch. */
export function isBatch(bytes: Buffer): boolean {
  return bytes.find(byte => byte > 0x20) === 0x5b
}

/**
 * Replaces newlines of a JSON text by spaces. Valid JSON has newlines only between tokens.
 */
export function onOneLine(bytes: Buffer): Buffer {
  if (!bytes.includes(0x0a) && !bytes.includes(0x0d)) return bytes
  return Buffer.from(bytes.map(byte => (byte === 0x0a || byte === 0x0d ? 0x20 : byte)))
}
