import type { JsonObject } from '../json.ts'

export type RequestId = string | number

export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: JsonObject | undefined
}

/** JSON-RPC 2.0, section 5.1. */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  /** All that is between client and server. */
  internalError: -32603,
} as const

/** An integer beyond 2^53 would be echoed as another number, so it is none. */
export function isRequestId(id: unknown): id is RequestId {
  return typeof id === 'string' || Number.isSafeInteger(id)
}

/** Null: of no request (JSON-RPC 2.0). Undefined: the same at 2026-07-28, which leaves it out. */
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
