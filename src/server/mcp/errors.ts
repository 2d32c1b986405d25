import { type ErrorCode, ServiceError } from '../../lib/util/errors.ts'
import { jsonRpcCodes, type RpcError } from '../../lib/mcp/json-rpc.ts'

export const rpcCodes = {
  ...jsonRpcCodes,
  /** Transport refusals; the code both official SDKs use. */
  refused: -32000,
  /** Unknown or ended session; likewise. */
  sessionNotFound: -32001,
} as const

/** Which number a condition has. One table per transport; what is absent is an internal error there. */
export type RpcCodeTable = Readonly<Partial<Record<ErrorCode, number>>>

/** What the client is told. Anything that is not our own error stays in the log. */
export function toRpcError(error: unknown, codes: RpcCodeTable): RpcError {
  if (!(error instanceof ServiceError)) {
    return { code: rpcCodes.internalError, message: 'internal error', data: { reason: 'internal' } }
  }
  const code = codes[error.code] ?? rpcCodes.internalError
  const data = {
    ...(code === rpcCodes.internalError ? { reason: error.code } : {}),
    ...error.data,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  }
  const message = error.message
  return Object.keys(data).length === 0 ? { code, message } : { code, message, data }
}
