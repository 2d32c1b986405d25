import type { z } from 'zod'
import { jsonRpcCodes, type RequestId, type RpcError } from '../../lib/mcp/json-rpc.ts'
import { type ErrorCode, ServiceError } from '../../lib/util/errors.ts'

export const rpcCodes = {
  ...jsonRpcCodes,
  /** Transport refusals; the code both official SDKs use. */
  refused: -32000,
  /** Unknown or ended session; likewise. */
  sessionNotFound: -32001,
  /** Defined by revision 2026-07-28 ("basic", "Error Codes"), as the next one. */
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const

type RpcCodeTable = Readonly<Partial<Record<ErrorCode, number>>>

/** 2024-11-05 to 2025-11-25 (`resources`, "Error Handling"). */
const sessionCodes: RpcCodeTable = {
  resource_not_found: -32002,
  resource_not_enabled: -32002,
  resource_uri_invalid: rpcCodes.invalidParams,
  tool_call_invalid: rpcCodes.invalidParams,
  // In a batch: alone, the whole request is refused with 403.
  scope_insufficient: rpcCodes.refused,
  session_ended: rpcCodes.sessionNotFound,
}

/** −32002 must not be sent in 2026-07-28: what does not exist is a parameter out of range. */
const statelessCodes: RpcCodeTable = {
  resource_not_found: rpcCodes.invalidParams,
  resource_not_enabled: rpcCodes.invalidParams,
  resource_uri_invalid: rpcCodes.invalidParams,
  tool_call_invalid: rpcCodes.invalidParams,
}

/** What the client is told of an error. Details of unexpected errors stay in the log. */
export function toRpcError(error: unknown, transport: 'session' | 'stateless'): RpcError {
  if (!(error instanceof ServiceError)) {
    return { code: rpcCodes.internalError, message: 'internal error', data: { reason: 'internal' } }
  }
  const codes = transport === 'session' ? sessionCodes : statelessCodes
  const code = codes[error.code] ?? rpcCodes.internalError
  const data = {
    ...(code === rpcCodes.internalError && { reason: error.code }),
    ...error.data,
    ...(error.hint !== undefined && { hint: error.hint }),
  }
  const { message } = error
  return Object.keys(data).length === 0 ? { code, message } : { code, message, data }
}

interface RefusalDetails {
  /** Default: the one for what was not read. */
  readonly code?: number
  readonly id?: RequestId | null
  readonly headers?: Record<string, string>
}

/** Why a request is not served: a status of HTTP, and an error of JSON-RPC. */
export class Refusal extends Error {
  readonly status: number
  readonly code: number | undefined
  readonly id: RequestId | null
  readonly headers: Record<string, string>

  constructor(status: number, message: string, { code, id, headers }: RefusalDetails = {}) {
    super(message)
    this.status = status
    this.code = code
    this.id = id ?? null
    this.headers = headers ?? {}
  }
}

/** What is wrong with params, for the client. */
export function firstIssue({ issues: [issue] }: z.ZodError): string {
  return issue === undefined ? 'invalid params' : `"${issue.path.join('.')}": ${issue.message}`
}
