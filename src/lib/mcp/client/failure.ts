import { ServiceError } from '../../util/errors.ts'
import type { IncomingHttpHeaders } from 'node:http'
import { isJsonObject } from '../../util/json.ts'
import { shownUrl } from '../../util/net.ts'
import { cleanText } from '../../util/text.ts'
import { parseServerText, parseText } from '../bridge/rpc.ts'
import { jsonRpcCodes, type RpcError } from '../json-rpc.ts'

const keyHint =
  'set SERVICE_MCP_API_KEY or --api-key-file to a key of the server; service-cli keys create makes one there'
const { methodNotFound, invalidParams, internalError } = jsonRpcCodes
/** Errors of a request. Any other beside an HTTP error is about the transport. */
const requestCodes: number[] = [methodNotFound, invalidParams, internalError]

/** The server answered `what`, a URI or a path, with something else than this program expects. */
export function unexpectedAnswer(url: URL, what: string): ServiceError {
  const message = `the answer of ${shownUrl(url)} to ${what} is not of the expected form`
  return new ServiceError('resource_failed', message, {
    hint: 'it may be another program, or another version of service-cli',
  })
}

/** What a server was asked. */
export interface Asked {
  readonly url: URL
  /** Of MCP, or of HTTP. */
  readonly method: string
  /** A key was sent. */
  readonly isKeyed: boolean
}

/** An HTTP answer that is no success, or no MCP. */
export interface Refused {
  readonly kind: 'refused'
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Empty when it was incomplete or too long. */
  readonly body: Buffer
}

/** Translates the `error` of a JSON-RPC response. */
export function rpcFailure({ code, message, data }: RpcError, { method }: Asked): ServiceError {
  const text = cleanText(message, 300)
  // Servers of this project send a hint.
  const hint = textOf(data?.hint)
  if (code === invalidParams && typeof data?.uri === 'string') {
    return new ServiceError('resource_not_found', text, { hint })
  }
  if (code === internalError) {
    return new ServiceError('resource_failed', `the server failed: ${text}`, { hint })
  }
  return new ServiceError('request_refused', `the server refuses ${method}: ${text}`, { hint })
}

/** The JSON-RPC error that is the body of an HTTP error; null for any other. */
export function rpcErrorIn(body: Buffer): RpcError | null {
  const [answer] = parseServerText(String(body)) ?? []
  return answer?.kind === 'response' ? answer.error : null
}

/** Translates it. */
export function httpFailure(
  { status, headers, body }: Omit<Refused, 'kind'>,
  asked: Asked,
): ServiceError {
  const { url, method, isKeyed } = asked
  const where = shownUrl(url)
  const rpc = rpcErrorIn(body)
  if (rpc !== null && requestCodes.includes(rpc.code)) return rpcFailure(rpc, asked)
  const parsed = parseText(String(body))
  const value = isJsonObject(parsed) ? parsed : {}
  const { detail, title, error_description: described, code: problem } = value
  const text = textOf(rpc?.message ?? detail ?? title ?? described)
  const words = `(HTTP ${status})${text === undefined ? '' : `: ${text}`}`
  const root = url.pathname === '/' ? 'the endpoint of service-cli is at /mcp' : undefined
  const hint = textOf(value.hint) ?? root
  if (status === 200) {
    const type = cleanText(String(headers['content-type']), 100)
    const message = `${where} is not an MCP endpoint: it answers with ${type}`
    return new ServiceError('request_refused', message, { hint })
  }
  if (status === 401) {
    const what = isKeyed ? 'does not accept the key or token' : 'requires a key or token'
    const code = isKeyed ? 'auth_refused' : 'auth_required'
    return new ServiceError(code, `${where} ${what} ${words}`, { hint: keyHint })
  }
  if (status === 429) {
    return new ServiceError('rate_limited', `${where} is busy ${words}`, { hint })
  }
  // Servers of this project say what is wrong.
  if (typeof problem === 'string') {
    const isMissing = problem === 'artefact-not-found'
    const code = status >= 500 ? 'resource_failed' : 'request_refused'
    const what = status >= 500 ? 'the server failed' : 'the server refuses the request'
    const message = `${what}: ${text ?? problem}`
    return new ServiceError(isMissing ? 'resource_not_found' : code, message, { hint })
  }
  if (status >= 300 && status < 400) {
    const target = URL.parse(headers.location ?? '', url.href) ?? url
    const to = cleanText(shownUrl(target), 200)
    return new ServiceError('request_refused', `${where} redirects to ${to}`, {
      hint: 'redirects are not followed: use that address if you trust it',
    })
  }
  if ([400, 405, 406].includes(status) && method.includes('/')) {
    return new ServiceError('request_refused', `${where} does not serve MCP 2026-07-28 ${words}`, {
      hint: 'the commands need a server of that revision: update it, or connect an AI client to it',
    })
  }
  const code = status >= 500 ? 'network_failed' : 'request_refused'
  const what = status === 404 ? 'not found' : 'refused the request'
  return new ServiceError(code, `${where} ${what} ${words}`, { hint })
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? cleanText(value, 300) : undefined
}
