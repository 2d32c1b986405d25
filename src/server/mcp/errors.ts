import type { z } from 'zod'
import { jsonRpcCodes, type RpcError } from '../../lib/mcp/json-rpc.ts'
import { type ErrorCode, ServiceError } from '../../lib/util/errors.ts'
import type { JsonObject } from '../../lib/util/json.ts'
import { ResourceUriInvalid } from '../resources/errors.ts'

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

/** Revisions to 2025-11-25 (`resources`, "Error Handling"); 2026-07-28 must not be sent it. */
const resourceNotFound = -32002

/** What the client is told of an error. Details of unexpected errors stay in the log. */
export function toRpcError(error: unknown, transport: 'session' | 'stateless'): RpcError {
  if (!(error instanceof ServiceError)) {
    return { code: rpcCodes.internalError, message: 'internal error', data: { reason: 'internal' } }
  }
  const code = codeOf(error.code, transport)
  const data = {
    ...(code === rpcCodes.internalError && { reason: error.code }),
    ...error.data,
    ...(error.hint !== undefined && { hint: error.hint }),
  }
  const { message } = error
  return Object.keys(data).length === 0 ? { code, message } : { code, message, data }
}

function codeOf(code: ErrorCode, transport: 'session' | 'stateless'): number {
  switch (code) {
    case 'resource_not_found':
    case 'resource_not_enabled':
      return transport === 'session' ? resourceNotFound : rpcCodes.invalidParams
    case 'resource_uri_invalid':
    case 'tool_call_invalid':
      return rpcCodes.invalidParams
    // In a batch: alone, the whole request is refused with 403.
    case 'scope_insufficient':
      return rpcCodes.refused
    default:
      return rpcCodes.internalError
  }
}

/** Why a request is not served: a status of HTTP, and an error of JSON-RPC. */
export class Refusal extends Error {
  readonly status: number
  /** Default code: the one for what was not read. */
  readonly details: { code?: number; headers?: Record<string, string> }

  constructor(status: number, message: string, details: Refusal['details'] = {}) {
    super(message)
    this.status = status
    this.details = details
  }
}

/** The params that a method takes. Throws `ResourceUriInvalid` with what is wrong with them. */
export function checkParams<Params>(schema: z.ZodType<Params>, params: JsonObject): Params {
  const parsed = schema.safeParse(params)
  if (parsed.success) return parsed.data
  const { path = [], message = '' } = parsed.error.issues[0] ?? {}
  throw new ResourceUriInvalid(`"${path.join('.')}": ${message}`)
}
