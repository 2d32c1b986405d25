import { connectionReason } from '../../util/connection-reason.ts'
import { jsonRpcCodes, type RpcError } from '../json-rpc.ts'

/** `reason` is stable: clients read it. */
export function bridgeError(reason: string, message: string, more: object = {}): RpcError {
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
