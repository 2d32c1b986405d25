import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../../util/errors.ts'
import { arrayOf, isJsonObject, type JsonObject } from '../../util/json.ts'
import { version } from '../../util/version.ts'
import { Unreachable } from '../bridge/bridge-errors.ts'
import { shownUrl } from '../../util/net.ts'
import { exchange, type ExchangeAsk, type Exchanged, readRefusal } from '../bridge/exchange.ts'
import type { HttpAsk, HttpLink } from '../bridge/http-link.ts'
import { messageText, type RpcMessage } from '../bridge/rpc.ts'
import { metaKeys, statelessHeaders } from '../request-metadata.ts'
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

/** Calls a method and returns its result. Rejects with `ServiceError`. */
export async function callMethod(
  server: McpServer,
  method: string,
  params: JsonObject,
  signal: AbortSignal = new AbortController().signal,
): Promise<JsonObject> {
  let result = null as JsonObject | null
  await post(server, method, params, { signal }, message => {
    if (message.kind === 'response') result = message.result
  })
  if (result === null) throw unexpectedAnswer(server.url, method)
  return result
}

interface Listener {
  readonly signal: AbortSignal
  /** Called when the server has confirmed the subscription. */
  begun(): Promise<void>
  /** Called for each update. */
  updated(): void
}

/**
 * Subscribes to a resource. Rejects with `ServiceError` when the server refuses and when the stream
 * ends, and as `begun` does.
 */
export async function listen(
  server: McpServer,
  uri: string,
  { signal, begun, updated }: Listener,
): Promise<never> {
  const method = 'subscriptions/listen'
  const params = { notifications: { resourceSubscriptions: [uri] } }
  await post(server, method, params, { isStream: true, signal }, async message => {
    if (message.kind !== 'notification') return
    if (message.method === 'notifications/resources/updated') updated()
    if (message.method !== 'notifications/subscriptions/acknowledged') return
    const { notifications } = message.params
    const honoured = isJsonObject(notifications) ? notifications.resourceSubscriptions : []
    if (!arrayOf(honoured).includes(uri)) {
      throw new ServiceError('request_refused', `the server does not announce updates of ${uri}`, {
        hint: 'service-cli resources read URI shows the current state',
      })
    }
    await begun()
  })
  throw new ServiceError('network_failed', 'the server closed the event stream')
}

/** Sends a request and delivers the messages of its answer. Rejects with `ServiceError`. */
async function post(
  { url, link }: McpServer,
  method: string,
  params: JsonObject,
  how: Pick<ExchangeAsk, 'isStream' | 'signal'>,
  deliver: (message: RpcMessage) => void | Promise<void>,
): Promise<void> {
  const asked = { url, method, isKeyed: link.key !== null }
  const _meta = {
    [metaKeys.protocolVersion]: revision,
    [metaKeys.clientInfo]: { name: 'service-cli', version },
    [metaKeys.clientCapabilities]: {},
  }
  const ended = await exchange(
    link,
    {
      url,
      method: 'POST',
      headers: statelessHeaders(method, params, revision),
      body: messageText({ id: 1, method, params: { ...params, _meta } }),
      answerMs,
      maxAnswerBytes,
      ...how,
    },
    {
      async deliver({ messages }) {
        for (const message of messages) {
          if (message.kind === 'response' && message.error !== null) {
            throw rpcFailure(message.error, asked)
          }
          await deliver(message)
        }
      },
    },
  )
  if (ended.kind !== 'ended') throw failureOf(ended, asked)
}

/** Sends an HTTP request. Resolves with a successful answer; rejects with `ServiceError`. */
export async function openAnswer(
  link: HttpLink,
  request: Omit<HttpAsk, 'answerMs'>,
): Promise<IncomingMessage> {
  const { url, method, signal } = request
  const asked = { url, method, isKeyed: link.key !== null }
  try {
    const answer = await link.ask({ ...request, answerMs })
    const { statusCode: status = 0, headers } = answer
    if (status >= 200 && status < 300) return answer
    throw httpFailure({ status, headers, body: await readRefusal(answer) }, asked)
  } catch (error) {
    if (signal.aborted) throw failureOf({ kind: 'aborted' }, asked)
    throw error instanceof Unreachable ? unreachable(url, error.message) : error
  }
}

function failureOf(ended: Exclude<Exchanged, { kind: 'ended' }>, asked: Asked): ServiceError {
  const { url } = asked
  switch (ended.kind) {
    case 'refused':
      return httpFailure(ended, asked)
    case 'broken':
      return unreachable(url, ended.reason)
    case 'aborted':
      return new ServiceError('cancelled', 'cancelled')
    case 'oversize': {
      const message = `the answer of ${shownUrl(url)} is larger than ${maxAnswerBytes} bytes`
      const hint = 'an artefact of any size: service-cli artefacts get URI'
      return new ServiceError('artefact_too_large', message, { hint })
    }
  }
}

function unreachable(url: URL, reason: string): ServiceError {
  return new ServiceError('network_failed', `${shownUrl(url)} cannot be reached: ${reason}`, {
    hint: reason.startsWith('TLS failed')
      ? 'check the certificate; NODE_EXTRA_CA_CERTS names a private authority'
      : 'service-cli instances shows what runs here',
  })
}
