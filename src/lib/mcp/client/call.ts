import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { collectBounded } from '../../util/bytes.ts'
import { ServiceError } from '../../util/errors.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../util/json.ts'
import { version } from '../../util/version.ts'
import { Unreachable } from '../bridge/bridge-errors.ts'
import { shownUrl } from '../bridge/context.ts'
import type { HttpLink, HttpUpload } from '../bridge/http-link.ts'
import { encodeHeaderValue, metaKeys } from '../request-metadata.ts'
import { type Asked, httpFailure, rpcFailure, unexpectedAnswer } from './failure.ts'

/** An MCP endpoint, and the connections to it. */
export interface McpServer {
  readonly url: URL
  readonly link: HttpLink
}

/** The only revision that the commands speak: each request is independent, so one is enough. */
const revision = '2026-07-28'
/** A request fails after this time without data. */
export const answerMs = 60_000
const maxAnswerBytes = 64 * 1024 * 1024
const maxRefusalBytes = 64 * 1024
/** `JSON.stringify` fails for values that are nested some thousand levels deep. */
const maxDepth = 1000
const requestId = 1

/** Calls a method and returns its result. Rejects with `ServiceError`. */
export async function callMethod(
  server: McpServer,
  method: string,
  params: JsonObject,
  signal: AbortSignal = new AbortController().signal,
): Promise<JsonObject> {
  const request = { method, params, uri: params.uri, signal }
  for await (const { id, result } of messagesOf(server, request)) {
    if (id === requestId && isJsonObject(result)) return result
  }
  const where = shownUrl(server.url)
  throw new ServiceError('resource_failed', `${where} ended its answer to ${method} too early`)
}

/**
 * Subscribes to a resource. Yields when the server has confirmed the subscription, then for each
 * update. Throws `ServiceError` when the server refuses, and when the stream ends.
 */
export async function* listen(
  server: McpServer,
  uri: string,
  signal: AbortSignal,
): AsyncGenerator<undefined, never> {
  const request = {
    method: 'subscriptions/listen',
    params: { notifications: { resourceSubscriptions: [uri] } },
    uri,
    signal,
    mayBeIdle: true,
  }
  for await (const { method, params } of messagesOf(server, request)) {
    if (method === 'notifications/subscriptions/acknowledged') {
      if (!isHonoured(params, uri)) {
        throw new ServiceError(
          'request_refused',
          `the server does not announce updates of ${uri}`,
          { hint: 'service-cli resources read URI shows the current state' },
        )
      }
      yield
    } else if (method === 'notifications/resources/updated') yield
  }
  throw new ServiceError('network_failed', 'the server closed the event stream')
}

function isHonoured(params: unknown, uri: string): boolean {
  const { notifications } = isJsonObject(params) ? params : {}
  const uris = isJsonObject(notifications) ? notifications.resourceSubscriptions : undefined
  return Array.isArray(uris) && uris.includes(uri)
}

interface McpRequest {
  readonly method: string
  readonly params: JsonObject
  /** What it is about, for errors. */
  readonly uri?: unknown
  readonly signal: AbortSignal
  /** A stream that is silent for long is not broken. */
  readonly mayBeIdle?: boolean
}

/** Sends a request and yields the messages of its answer. Throws the error of the server. */
async function* messagesOf(
  server: McpServer,
  { method, params, uri, signal, mayBeIdle = false }: McpRequest,
): AsyncGenerator<JsonObject> {
  const { url } = server
  const _meta = {
    [metaKeys.protocolVersion]: revision,
    [metaKeys.clientInfo]: { name: 'service-cli', version },
    [metaKeys.clientCapabilities]: {},
  }
  const message = { jsonrpc: '2.0', id: requestId, method, params: { ...params, _meta } }
  const answer = await openAnswer(
    server,
    {
      url,
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': revision,
        'Mcp-Method': method,
        ...(typeof params.uri === 'string' && { 'Mcp-Name': encodeHeaderValue(params.uri) }),
      },
      body: JSON.stringify(message),
      signal,
    },
    { method, uri },
  )
  if (!mayBeIdle)
    answer.setTimeout(answerMs, () => answer.destroy(new Unreachable('it stopped answering')))
  try {
    for await (const text of textsOf(answer, url)) {
      const parsed = parseJson(text, maxDepth)
      if (!parsed.ok || !isJsonObject(parsed.value)) throw unexpectedAnswer(url, method)
      const { error } = parsed.value
      if (isJsonObject(error)) throw rpcFailure(error, { method, uri })
      yield parsed.value
    }
  } catch (error) {
    if (error instanceof ServiceError) throw error
    throw connectionFailure(error, url, signal)
  } finally {
    answer.destroy()
  }
}

async function* textsOf(answer: IncomingMessage, url: URL): AsyncGenerator<string> {
  const type = answer.headers['content-type'] ?? ''
  if (/^text\/event-stream\b/i.test(type)) {
    const events = Readable.toWeb(answer)
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream({ maxBufferSize: maxAnswerBytes }))
    for await (const { data } of events) yield data
    return
  }
  if (!/^application\/json\b/i.test(type)) {
    throw new ServiceError('request_refused', `${shownUrl(url)} is not an MCP endpoint`, {
      hint: url.pathname === '/' ? 'the endpoint of service-cli is at /mcp' : undefined,
    })
  }
  const bytes = await collectBounded(answer, maxAnswerBytes)
  if (bytes !== null) return yield bytes.toString('utf8')
  const message = `the answer of ${shownUrl(url)} is larger than ${maxAnswerBytes} bytes`
  throw new ServiceError('artefact_too_large', message, {
    hint: 'an artefact of any size: service-cli artefacts get URI',
  })
}

/** Sends an HTTP request. Resolves with a successful answer; rejects with `ServiceError`. */
export async function openAnswer(
  { link }: McpServer,
  request: Omit<HttpUpload, 'repeatable' | 'answerMs'>,
  asked: Asked = request,
): Promise<IncomingMessage> {
  const { url, signal } = request
  try {
    const answer = await link.ask({ ...request, repeatable: true, answerMs })
    const { statusCode: status = 0 } = answer
    if (status >= 200 && status < 300) return answer
    const body = await collectBounded(answer, maxRefusalBytes)
    throw httpFailure(answer, body, { ...asked, url, isKeyed: link.key !== null })
  } catch (error) {
    if (error instanceof ServiceError) throw error
    throw connectionFailure(error, url, signal)
  }
}

function connectionFailure(cause: unknown, url: URL, signal: AbortSignal): ServiceError {
  if (signal.aborted) return new ServiceError('cancelled', 'cancelled')
  const reason = cause instanceof Unreachable ? cause.message : 'the connection was cut'
  return new ServiceError('network_failed', `${shownUrl(url)} cannot be reached: ${reason}`, {
    cause,
    hint: 'service-cli instances shows what runs here',
  })
}
