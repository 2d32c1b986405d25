import { isJsonObject, type JsonObject } from '../../util/json.ts'
import { isRequestId, type RequestId, type RpcError } from '../json-rpc.ts'

export interface RpcRequest {
  readonly kind: 'request'
  readonly id: RequestId
  readonly method: string
  /** Empty when absent or invalid; the receiver reports the error. */
  readonly params: JsonObject
}

export interface RpcNotification {
  readonly kind: 'notification'
  readonly method: string
  readonly params: JsonObject
}

export interface RpcResponse {
  readonly kind: 'response'
  /** Null for an error that belongs to no request. */
  readonly id: RequestId | null
  readonly result: JsonObject | null
  readonly error: RpcError | null
}

export type RpcMessage = RpcRequest | RpcNotification | RpcResponse

/** The JSON value of a text; undefined for invalid JSON. */
export function parseText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Parses one message; null when it is not one of JSON-RPC 2.0. */
export function parseRpcMessage(value: unknown): RpcMessage | null {
  if (!isJsonObject(value) || value.jsonrpc !== '2.0') return null
  const { id = null, method, params, result, error } = value
  if (typeof method === 'string') {
    const called = { method, params: isJsonObject(params) ? params : {} }
    if (!('id' in value)) return { kind: 'notification', ...called }
    return isRequestId(id) ? { kind: 'request', id, ...called } : null
  }
  if (id !== null && !isRequestId(id)) return null
  if (isJsonObject(error)) {
    const { code, message: text, data } = error
    if (typeof code !== 'number' || typeof text !== 'string') return null
    const rpcError = { code, message: text, ...(isJsonObject(data) && { data }) }
    return { kind: 'response', id, result: null, error: rpcError }
  }
  if (id === null || !isJsonObject(result)) return null
  return { kind: 'response', id, result, error: null }
}

/** Parses a message or a batch. Null when any message is invalid. */
export function parseServerText(text: string): RpcMessage[] | null {
  const value = parseText(text)
  const elements: unknown[] = Array.isArray(value) ? value : [value]
  const messages = elements.map(parseRpcMessage)
  return messages.length > 0 && messages.every(message => message !== null) ? messages : null
}

/** The text of a message with these members. */
export function messageText(members: object): string {
  return JSON.stringify({ jsonrpc: '2.0', ...members })
}
