import type { JsonObject } from '../../util/json.ts'
import type { RequestId, RpcError } from '../json-rpc.ts'
import {
  claimOf,
  encodeHeaderValue,
  isHeaderText,
  metaKeys,
  namedMembers,
} from '../request-metadata.ts'
import { answerIncomplete, answerTooLarge, serverGone } from './bridge-errors.ts'
import { maxAnswerBytes, type Upstream } from './connection.ts'
import { type BridgeContext, postHeaders } from './context.ts'
import type { Exchanged, ServerText } from './exchange.ts'
import { errorMessage, type RpcMessage, type RpcRequest } from './rpc.ts'
import type { ClientSession } from './session.ts'

/** A line of the client on its way: one message, or a batch. */
export class Call {
  readonly line: string
  /** Null for a batch. */
  readonly message: RpcMessage | null
  /** The headers of a request of 2026-07-28, which names its revision; null for any other. */
  readonly statelessHeaders: Record<string, string> | null
  readonly #context: BridgeContext
  readonly #unanswered = new Map<RequestId, RpcRequest>()
  readonly #cancelled = new AbortController()

  constructor(
    context: BridgeContext,
    line: string,
    messages: (RpcMessage | null)[],
    isBatch: boolean,
  ) {
    this.#context = context
    this.line = line
    this.message = isBatch ? null : (messages[0] ?? null)
    this.statelessHeaders = statelessHeaders(this.message)
    for (const message of messages) {
      if (message?.kind === 'request') this.#unanswered.set(message.id, message)
    }
  }

  /** The requests that wait for an answer: several in a batch, none for a notification. */
  get unanswered(): RpcRequest[] {
    return [...this.#unanswered.values()]
  }

  /** Aborted when the client no longer waits for the answer. */
  get cancelled(): AbortSignal {
    return this.#cancelled.signal
  }

  /** The client no longer waits for the answer to one of the requests. */
  cancel(id: RequestId): void {
    this.#unanswered.delete(id)
    if (this.message !== null) this.#cancelled.abort()
  }

  /** Sends the POST and passes the messages of the answer to the client. */
  send(upstream: Upstream, session: ClientSession | null): Promise<Exchanged> {
    const headers = this.statelessHeaders ?? session?.headers ?? postHeaders
    const ask = {
      method: 'POST',
      headers,
      body: this.line,
      signal: this.cancelled,
      // A tool is never called twice.
      repeatable: !this.unanswered.some(({ method }) => method === 'tools/call'),
    } as const
    return this.#context.connection.exchange(upstream, ask, {
      deliver: text =>
        this.pass(text, (request, result) =>
          session?.answered(request, result, text.headers, upstream),
        ),
    })
  }

  /** Passes messages of the server on. `answered` is called before the client has a result. */
  async pass(
    { line, messages }: ServerText,
    answered?: (request: RpcRequest, result: JsonObject) => void,
  ): Promise<void> {
    const { output, log } = this.#context
    let unknown = 0
    for (const message of messages) {
      if (message.kind !== 'response') continue
      const { id, result, error } = message
      if (id === null) {
        // A server that could not read the id sends an error without it. In a batch it answers one
        // invalid element, beside the answers to the valid ones.
        if (this.message !== null && error !== null) return this.refuse(error)
        continue
      }
      const request = this.#unanswered.get(id)
      if (request === undefined) {
        log.warn({ id }, 'dropped a response with an unknown id')
        unknown++
        continue
      }
      this.#unanswered.delete(id)
      if (result !== null) answered?.(request, result)
    }
    // The client ignores the unknown ones of a batch.
    if (unknown < messages.length) await output.send(line)
  }

  /** Answers all unanswered requests with an error. */
  async refuse(error: RpcError): Promise<void> {
    const { unanswered } = this
    this.#unanswered.clear()
    for (const { id } of unanswered) await this.#context.output.send(errorMessage(id, error))
  }

  /** Answers the unanswered requests according to the end of the exchange. */
  settle(ended: Exchanged, upstream: Upstream): Promise<void> {
    switch (ended.kind) {
      case 'aborted':
        return this.refuse(serverGone('the connection was cut'))
      case 'ended':
        return this.refuse(answerIncomplete)
      case 'oversize':
        return this.refuse(answerTooLarge(maxAnswerBytes))
      case 'refused':
        return this.refuse(this.#context.connection.refusal(ended, upstream))
      case 'broken':
        return this.refuse(ended.begun ? answerIncomplete : serverGone(ended.reason))
    }
  }
}

/**
 * The headers that repeat parts of a 2026-07-28 request (Streamable HTTP, request metadata). Omits
 * values that no header can carry; the server then reports the error. Null for any other message.
 */
function statelessHeaders(message: RpcMessage | null): Record<string, string> | null {
  if (message?.kind !== 'request') return null
  const { method, params } = message
  const revision = claimOf(params)?.[metaKeys.protocolVersion]
  if (revision === undefined) return null
  const name = params[namedMembers.get(method) ?? '']
  return {
    ...postHeaders,
    ...(typeof revision === 'string' &&
      isHeaderText(revision) && { 'MCP-Protocol-Version': revision }),
    ...(isHeaderText(method) && { 'Mcp-Method': method }),
    ...(typeof name === 'string' && { 'Mcp-Name': encodeHeaderValue(name) }),
  }
}
