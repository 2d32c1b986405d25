import type { JsonObject } from '../util/json.ts'

/** A JSON-RPC 2.0 request id. */
export type RequestId = string | number

/** A call keeps its id while it waits: longer ones would be a way to fill the memory. */
const maxIdChars = 1024

export const idProblem = `member "id" must be a string of at most ${maxIdChars} characters or an integer of at most 2^53 - 1`

/** False for integers beyond 2^53, which would be echoed as another number. */
export function isRequestId(id: unknown): id is RequestId {
  return typeof id === 'string' ? id.length <= maxIdChars : Number.isSafeInteger(id)
}

/** The `error` of a response. */
export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: JsonObject
}

/** JSON-RPC 2.0, section 5.1. */
export const jsonRpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
} as const
