import { connectionReason } from '../../util/connection-reason.ts'
import { isJsonObject } from '../../util/json.ts'
import { cleanText } from '../../util/text.ts'
import { jsonRpcCodes, type RpcError } from '../json-rpc.ts'
import { shownUrl, type Target } from './context.ts'
import type { Refused } from './exchange.ts'
import { parseServerText, parseText } from './rpc.ts'

/** Error reasons of the bridge. Stable: clients read them in `data.reason`. */
type Reason =
  | 'server_unreachable'
  | 'answer_incomplete'
  | 'answer_too_large'
  | 'auth_required'
  | 'auth_refused'
  | 'redirected'
  | 'server_refused'
  | 'stopping'

function bridgeError(reason: Reason, message: string, more: object = {}): RpcError {
  return { code: jsonRpcCodes.internalError, message, data: { reason, ...more } }
}

export const bridgeFailed = { code: jsonRpcCodes.internalError, message: 'the bridge failed' }

export const stopping = bridgeError('stopping', 'the connection to the server is being closed')

export const answerIncomplete = bridgeError(
  'answer_incomplete',
  'the server ended its answer before it was complete; repeat the request',
)

/** `clause`: why the server is unreachable, such as "connection refused". */
export function serverGone(clause: string): RpcError {
  const advice = 'the bridge reconnects by itself; start the server if it is not running'
  return bridgeError(
    'server_unreachable',
    `the MCP server cannot be reached: ${clause}; ${advice}, then repeat the request`,
  )
}

export function answerTooLarge(maxBytes: number): RpcError {
  const message =
    `the answer is too large for stdio (at most ${maxBytes} bytes); ` +
    'read less of it, or fetch the download_url of an artefact'
  return bridgeError('answer_too_large', message, { max_bytes: maxBytes })
}

/** Translates an HTTP refusal into the error of the request. */
export function refusalError(refused: Refused, { url }: Target, keyed: boolean): RpcError {
  const { status, headers } = refused
  const detail = detailOf(refused)
  const words = detail === null ? '' : `: ${detail}`
  if (status === 401) {
    const what = keyed ? 'does not accept the key or token' : 'requires a key or token'
    const hint =
      'start connect with SERVICE_MCP_API_KEY or --api-key-file, a key of the server; service-cli keys create makes one'
    const message = `the server ${what} (HTTP 401)${words}; ${hint}`
    return bridgeError(keyed ? 'auth_refused' : 'auth_required', message)
  }
  if (status >= 300 && status < 400) {
    const to = redirectedTo(headers.location, url)
    const message = `${shownUrl(url)} redirects to ${to}; redirects are not followed: use that address if you trust it`
    return bridgeError('redirected', message, { status })
  }
  // The JSON-RPC error of the server says more, and shows which transport it serves.
  const [message, ...others] = parseServerText(String(refused.body)) ?? []
  if (message?.kind === 'response' && message.error !== null && others.length === 0) {
    return message.error
  }
  const type = cleanText(String(headers['content-type']), 100)
  const what =
    status === 404
      ? 'has no MCP endpoint (HTTP 404)'
      : status === 200
        ? `is not an MCP endpoint: it answers with ${type}`
        : `answered with HTTP ${status}`
  const isRoot = url.pathname === '/' && (status === 404 || status === 200)
  const root = isRoot ? '; the endpoint of service-cli is at /mcp' : ''
  return bridgeError('server_refused', `${shownUrl(url)} ${what}${root}${words}`, { status })
}

function redirectedTo(location: string | undefined, from: URL): string {
  const to = location === undefined ? null : URL.parse(location, from.href)
  return to === null ? 'another address' : cleanText(shownUrl(to), 200)
}

/** The readable text of a problem document (RFC 9457) or an OAuth error. */
function detailOf({ body }: Refused): string | null {
  const value = parseText(String(body))
  if (!isJsonObject(value)) return null
  const text = value.detail ?? value.error_description ?? value.title
  return typeof text === 'string' ? cleanText(text, 300) : null
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
  if (!/^\w{1,64}$/.test(code)) return 'unknown error'
  return connectionReason(code)
}
