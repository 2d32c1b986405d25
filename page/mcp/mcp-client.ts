import { EventSourceParserStream } from 'eventsource-parser/stream'
import { version } from '../build-facts.ts'
import { McpError } from './carrier.ts'
import { request } from './request.ts'

interface RpcMessage {
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: Record<string, unknown>
  readonly error?: { readonly message?: string; readonly data?: { readonly hint?: string } }
}

/** Called with each message of a stream, and with null for a sign of life between them. */
type Heard = (message: RpcMessage | null) => void

/** One hung answer must not stop everything that is read after it. */
const answerMs = 30_000
const revision = '2026-07-28'
const prefix = 'io.modelcontextprotocol/'
const _meta = {
  [`${prefix}protocolVersion`]: revision,
  [`${prefix}clientInfo`]: { name: 'service-page', title: 'Live page', version },
  [`${prefix}clientCapabilities`]: {},
}
let lastId = 0

/**
 * Asks `/mcp` by the stateless transport. Throws `McpError` when the server refuses, `Error` when it
 * cannot be reached.
 */
export async function ask(method: string, params: object): Promise<Record<string, unknown>> {
  return resultOf(await post(method, params, AbortSignal.timeout(answerMs)))
}

/** Follows the resources until the server ends the stream. Throws when it breaks. */
export async function listen(
  uris: readonly string[],
  heard: Heard,
  signal: AbortSignal,
): Promise<void> {
  const notifications = { resourceSubscriptions: uris, resourcesListChanged: true }
  const response = await post('subscriptions/listen', { notifications }, signal)
  const isStream = response.headers.get('Content-Type')?.startsWith('text/event-stream') === true
  if (response.body === null || !isStream) {
    await resultOf(response)
    return
  }
  const events = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ onComment: () => heard(null) }))
    .getReader()
  // Not every browser iterates over a stream.
  for (let event = await events.read(); !event.done; event = await events.read()) {
    const { data } = event.value
    heard(data === '' ? null : (JSON.parse(data) as RpcMessage))
  }
}

function post(method: string, params: object, signal: AbortSignal): Promise<Response> {
  const { uri } = params as { uri?: string }
  return request('/mcp', {
    method: 'POST',
    headers: {
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      'MCP-Protocol-Version': revision,
      'Mcp-Method': method,
      ...(uri !== undefined && { 'Mcp-Name': uri }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: ++lastId, method, params: { ...params, _meta } }),
    signal,
  })
}

/** The result of an answer. Throws `McpError` for an error in it. */
async function resultOf(response: Response): Promise<Record<string, unknown>> {
  const { result, error }: RpcMessage = await response.json().catch(() => {
    throw new Error('the answer is not whole, or not one of this server')
  })
  if (result !== undefined) return result
  // Of what is switched off, the hint has the reason.
  const hint = error?.message?.startsWith('resource not enabled') ? error.data?.hint : undefined
  throw new McpError(hint ?? error?.message ?? 'the answer has no result', response.status)
}
