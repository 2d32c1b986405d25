import type { JsonObject } from '../util/json.ts'

/** JSON-RPC 2.0 as MCP uses it, for whoever serves it and whoever asks. */
export type RequestId = string | number

/** An integer beyond 2^53 would be echoed as another number, so it is none. */
export function isRequestId(id: unknown): id is RequestId {
  return typeof id === 'string' || Number.isSafeInteger(id)
}

/** The `error` of an answer. */
export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: JsonObject | undefined
}

/** JSON-RPC 2.0, section 5.1. */
export const jsonRpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
} as const
