import { type JsonObject, isJsonObject } from '../../util/json.ts'
import { type RequestId, idProblem, isRequestId, jsonRpcCodes, type RpcError } from '../json-rpc.ts'
import { type Result, fail, ok } from '../../util/result.ts'
import { paramsOf, parseBytes } from './rpc.ts'

export interface ClientRequest {
  readonly kind: 'request'
  readonly id: RequestId
  readonly method: string
  /** Empty when invalid; the server reports the error. */
  readonly params: JsonObject
  /** The line as written by the client; forwarded unchanged. */
  readonly bytes: Buffer
}

export interface ClientNotification {
  readonly kind: 'notification'
  readonly method: string
  readonly params: JsonObject
  readonly bytes: Buffer
}

/** The answer to a request of the server. */
export interface ClientResponse {
  readonly kind: 'response'
  readonly bytes: Buffer
}

/** Exists only in revision 2025-03-26. */
export interface ClientBatch {
  readonly kind: 'batch'
  readonly requests: readonly ClientRequest[]
  readonly notifications: readonly ClientNotification[]
  readonly bytes: Buffer
}

export type ClientMessage = ClientRequest | ClientNotification | ClientResponse | ClientBatch

interface BadLine {
  readonly id: RequestId | null
  readonly error: RpcError
}

/** Parses a line of the client. Checks only what the bridge needs; the server checks the rest. */
export function parseClientLine(bytes: Buffer): Result<ClientMessage, BadLine> {
  const value = parseBytes(bytes)
  if (value === undefined) {
    const message = 'the line is not valid JSON: one message a line, in UTF-8'
    return fail({ id: null, error: { code: jsonRpcCodes.parseError, message } })
  }
  if (!Array.isArray(value)) return parseOne(value, bytes)
  if (value.length === 0) return invalid(null, 'a batch must hold at least one message')
  const messages = value.map(element => parseOne(element, bytes))
  const known = messages.flatMap(message => (message.ok ? [message.value] : []))
  return ok({
    kind: 'batch',
    requests: known.filter(message => message.kind === 'request'),
    notifications: known.filter(message => message.kind === 'notification'),
    bytes,
  })
}

function parseOne(
  value: unknown,
  bytes: Buffer,
): Result<Exclude<ClientMessage, ClientBatch>, BadLine> {
  if (!isJsonObject(value)) return invalid(null, 'a message must be a JSON object')
  const { id, method } = value
  const known = isRequestId(id) ? id : null
  if (value.jsonrpc !== '2.0') return invalid(known, 'member "jsonrpc" must be "2.0"')
  if (method === undefined && ('result' in value || 'error' in value)) {
    return ok({ kind: 'response', bytes })
  }
  if (typeof method !== 'string') return invalid(known, 'member "method" must be a string')
  const params = paramsOf(value)
  if (!('id' in value)) return ok({ kind: 'notification', method, params, bytes })
  if (known === null) {
    return invalid(null, idProblem)
  }
  return ok({ kind: 'request', id: known, method, params, bytes })
}

function invalid(id: RequestId | null, message: string): Result<never, BadLine> {
  return fail({ id, error: { code: jsonRpcCodes.invalidRequest, message } })
}
