import { cleanText } from '../../util/text.ts'
import { isJsonObject } from '../../util/json.ts'
import { jsonRpcCodes, type RpcError } from '../json-rpc.ts'
import type { Refused } from './exchange.ts'
import { parseServerText } from './server-message.ts'
import { shownUrl, type Target } from './context.ts'

/** Why the bridge itself answers a request. Stable: programs read it in `data.reason`. */
type Reason =
  | 'server_unreachable'
  | 'answer_cut'
  | 'answer_missing'
  | 'answer_too_large'
  | 'auth_required'
  | 'auth_refused'
  | 'redirected'
  | 'server_refused'
  | 'too_many_requests'
  | 'stopping'

function trouble(reason: Reason, message: string, more: object = {}): RpcError {
  return { code: jsonRpcCodes.internalError, message, data: { reason, ...more } }
}

/** `clause`: why there is no server, as in "connection refused". */
export function serverGone(clause: string): RpcError {
  const advice = 'the connection is restored by itself; start the server if it is not running'
  return trouble(
    'server_unreachable',
    `the MCP server cannot be reached: ${clause}; ${advice}, then repeat the request`,
  )
}

export function answerCut(): RpcError {
  const message = 'the connection was cut in the middle of the answer; repeat the request'
  return trouble('answer_cut', message)
}

export function answerMissing(): RpcError {
  return trouble('answer_missing', 'the server ended its answer without a message for this request')
}

export function answerTooLarge(maxBytes: number): RpcError {
  const message =
    `the answer is too large to be passed on over stdio (at most ${maxBytes} bytes); ` +
    'read less of it, or for an artefact fetch its download_url'
  return trouble('answer_too_large', message, { max_bytes: maxBytes })
}

export function tooManyRequests(most: number): RpcError {
  const message = `more than ${most} requests are open at once; wait for some of them`
  return trouble('too_many_requests', message)
}

export function stopping(): RpcError {
  return trouble('stopping', 'the connection to the server is being closed')
}

/** An HTTP status as the answer of the request that met it. */
export function refusalError(refused: Refused, { url }: Target, keyed: boolean): RpcError {
  const { status, headers } = refused
  if (status === 401) return keyRefused(keyed)
  if (status >= 300 && status < 400) {
    const to = redirectedTo(headers.location, url)
    const message = `${shownUrl(url)} redirects to ${to}, which is not followed; connect to that address itself if you trust it`
    return trouble('redirected', message, { status })
  }
  // The server's own words, in its own form: also what tells a client which transport it serves.
  const said = rpcErrorOf(refused)
  if (said !== null) return said
  const detail = detailOf(refused)
  const words = detail === null ? '' : `: ${detail}`
  const root = url.pathname === '/' ? '; that of service-cli is at /mcp' : ''
  return trouble('server_refused', `${shownUrl(url)} ${what()}${words}`, { status })

  function what(): string {
    if (status === 404) return `has no MCP endpoint (HTTP 404)${root}`
    if (status !== 200) return `answered with HTTP ${status}`
    const type = cleanText(String(headers['content-type']), 100)
    return `is no MCP endpoint: it answers with ${type}${root}`
  }
}

function redirectedTo(location: string | undefined, from: URL): string {
  const to = location === undefined ? null : URL.parse(location, from.href)
  return to === null ? 'another address' : cleanText(shownUrl(to), 200)
}

function keyRefused(keyed: boolean): RpcError {
  const how =
    'set SERVICE_MCP_API_KEY, or name a file with --api-key-file, where the bridge is started'
  return keyed
    ? trouble('auth_refused', `the server does not accept the API key (HTTP 401); ${how}`)
    : trouble('auth_required', `the server asks for an API key (HTTP 401); ${how}`)
}

function rpcErrorOf({ body }: Refused): RpcError | null {
  const [message, ...others] = parseServerText(body) ?? []
  return message?.kind === 'response' && others.length === 0 ? message.error : null
}

/** What a problem document (RFC 9457) or an OAuth refusal says for people. */
function detailOf({ body }: Refused): string | null {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    if (!isJsonObject(value)) return null
    const text = value.detail ?? value.error_description ?? value.title
    return typeof text === 'string' ? cleanText(text, 300) : null
  } catch {
    return null
  }
}

/** There is no server, or none any more. The message says why in one clause. */
export class Unreachable extends Error {
  override readonly name: string = 'Unreachable'
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  ETIMEDOUT: 'no connection came about in time',
  EHOSTUNREACH: 'there is no way to that machine',
  ENETUNREACH: 'there is no way to that network',
  HPE_INVALID_CONSTANT: 'what answers there is no web server',
  HPE_HEADER_OVERFLOW: 'the head of the answer is too long',
}

const certificate =
  /^(CERT_|ERR_TLS_|ERR_SSL_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|EPROTO$)/

/** Words for an error of a connection; nothing of its objects, which hold the request with its key. */
export function describeSocketError(error: NodeJS.ErrnoException, { hostname }: URL): string {
  const code = /^\w{1,64}$/.test(error.code ?? '') ? String(error.code) : 'unknown error'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `no address is known for ${hostname}`
  if (certificate.test(code)) {
    return `its certificate is not accepted (${code}); NODE_EXTRA_CA_CERTS names further authorities`
  }
  if (code.startsWith('HPE_') && !(code in reasons)) return `its answer is no valid HTTP (${code})`
  return reasons[code] ?? code
}
