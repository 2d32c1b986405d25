import { connectionReason } from '../../util/connection-reason.ts'
import { type Asked, httpFailure, rpcErrorIn } from '../client/failure.ts'
import { jsonRpcCodes, type RpcError } from '../json-rpc.ts'
import type { Exchanged, Refused } from './exchange.ts'

/** `reason` is stable: clients read it. */
function bridgeError(reason: string, message: string, more: object = {}): RpcError {
  return { code: jsonRpcCodes.internalError, message, data: { reason, ...more } }
}

/** `clause`: why the server is unreachable, such as "connection refused". */
export function serverGone(clause: string): RpcError {
  const advice = 'the bridge reconnects by itself; start the server if it is not running'
  return bridgeError(
    'server_unreachable',
    `the MCP server cannot be reached: ${clause}; ${advice}, then repeat the request`,
  )
}

/** The error of a request whose exchange ended so, without its answer. */
export function exchangeError(
  ended: Exchanged,
  { maxAnswerBytes: maxBytes, ...asked }: { maxAnswerBytes: number; url: URL; isKeyed: boolean },
): RpcError {
  if (ended.kind === 'refused') return refusalError(ended, asked)
  if (ended.kind === 'aborted') return serverGone('the connection was closed')
  if (ended.kind === 'broken' && !ended.begun) return serverGone(ended.reason)
  if (ended.kind === 'oversize') {
    const message =
      `the answer is too large for stdio (at most ${maxBytes} bytes); ` +
      'read less of it, or fetch the download_url of an artefact'
    return bridgeError('answer_too_large', message, { max_bytes: maxBytes })
  }
  const cut = 'the server ended its answer before it was complete; repeat the request'
  return bridgeError('answer_incomplete', cut)
}

/** Translates an HTTP refusal into the error of the request. */
function refusalError(refused: Refused, asked: Omit<Asked, 'method'>): RpcError {
  const { status, body } = refused
  const error = rpcErrorIn(body)
  // It says more, and shows which transport the server has.
  if (error !== null && status !== 401) return error
  const { code, message, hint } = httpFailure(refused, { ...asked, method: 'POST' })
  const words = hint === undefined ? message : `${message}; ${hint}`
  return bridgeError(status === 401 ? code : 'server_refused', words, { status })
}

/** The server is unreachable. The message is the reason as one clause. */
export class Unreachable extends Error {
  override readonly name: string = 'Unreachable'
}

/** On Linux another user can listen on the port of a server that ended. */
export function foreignListener(host: string): Unreachable {
  return new Unreachable(`another user listens at ${host}; nothing was sent`)
}

/** Describes a connection error without its members, which hold the request and its key. */
export function describeSocketError({ code = '' }: NodeJS.ErrnoException): string {
  return connectionReason(code) || 'unknown error'
}
