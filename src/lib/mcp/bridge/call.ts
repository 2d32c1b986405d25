import type { IncomingHttpHeaders } from 'node:http'
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import type { Logger } from '../../util/logger.ts'
import type { RequestId, RpcError } from '../json-rpc.ts'
import {
  claimOf,
  encodeHeaderValue,
  isHeaderText,
  metaKeys,
  namedMembers,
} from '../request-metadata.ts'
import { answerCut, answerMissing, answerTooLarge, serverGone } from './bridge-errors.ts'
import { type Connection, maxAnswerBytes, type Upstream } from './connection.ts'
import { postHeaders } from './context.ts'
import type { Exchanged, ServerText } from './exchange.ts'
import type { Output } from './output.ts'
import { errorMessage, type RpcMessage, type RpcRequest, type RpcResponse } from './rpc.ts'

interface CallParts {
  readonly connection: Connection
  readonly output: Output
  readonly log: Logger
}

/** Called before the client gets the answer to one of its requests. */
export type Answered = (
  request: RpcRequest,
  response: RpcResponse,
  headers: IncomingHttpHeaders,
) => void

/** A line of the client on its way: one message, or a batch. */
export class Call {
  readonly line: string
  /** Null for a batch. */
  readonly message: RpcMessage | null
  readonly #parts: CallParts
  readonly #unanswered = new Map<RequestId, RpcRequest>()
  readonly #cancelled = new AbortController()
  /** `tools/call` is never sent twice, and may take its time, such as for wait_for_change. */
  readonly #hasEffects: boolean

  constructor(parts: CallParts, line: string, messages: (RpcMessage | null)[], isBatch: boolean) {
    this.#parts = parts
    this.line = line
    this.message = isBatch ? null : (messages[0] ?? null)
    for (const message of messages) {
      if (message?.kind === 'request') this.#unanswered.set(message.id, message)
    }
    this.#hasEffects = this.unanswered.some(({ method }) => method === 'tools/call')
  }

  /** The requests that wait for an answer: several in a batch, none for a notification. */
  get unanswered(): RpcRequest[] {
    return [...this.#unanswered.values()]
  }

  /** The headers of a request of 2026-07-28, which names its revision; null for any other. */
  get statelessHeaders(): Record<string, string> | null {
    if (this.message?.kind !== 'request' || claimOf(this.message.params) === null) return null
    const { method, params } = this.message
    return { ...postHeaders, ...statelessHeaders(method, params) }
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
  send(
    upstream: Upstream,
    headers: Record<string, string>,
    answered: Answered,
  ): Promise<Exchanged> {
    const asked = { headers, body: this.line, signal: this.cancelled }
    const ask = { method: 'POST', ...asked, hasEffects: this.#hasEffects } as const
    return this.#parts.connection.exchange(upstream, ask, {
      deliver: async text => {
        await this.#pass(text, answered)
        return true
      },
    })
  }

  /** Answers all unanswered requests with an error. */
  async refuse(error: RpcError): Promise<void> {
    const { unanswered } = this
    this.#unanswered.clear()
    for (const { id } of unanswered) await this.#parts.output.send(errorMessage(id, error))
  }

  /** Answers the unanswered requests according to the end of the exchange. */
  async settle(ended: Exchanged, upstream: Upstream): Promise<void> {
    switch (ended.kind) {
      case 'aborted':
        return
      case 'ended':
        return this.refuse(answerMissing)
      case 'oversize':
        return this.refuse(answerTooLarge(maxAnswerBytes))
      case 'refused':
        return this.refuse(this.#parts.connection.refusal(ended, upstream))
      case 'broken':
        return this.refuse(ended.begun ? answerCut : serverGone(ended.reason))
    }
  }

  async #pass({ line, messages, headers }: ServerText, answered: Answered): Promise<void> {
    let unknown = 0
    for (const message of messages) {
      if (message.kind !== 'response') continue
      if (message.id === null) {
        // A server that could not read the id sends an error without it. In a batch it answers one
        // invalid element, beside the answers to the valid ones.
        if (this.message !== null && message.error !== null) return this.refuse(message.error)
        continue
      }
      const request = this.#unanswered.get(message.id)
      if (request === undefined) {
        this.#parts.log.warn({ id: message.id }, 'dropped a response with an unknown id')
        unknown++
        continue
      }
      this.#unanswered.delete(message.id)
      answered(request, message, headers)
    }
    // The client ignores the unknown ones of a batch.
    if (unknown < messages.length) await this.#parts.output.send(line)
  }
}

/**
 * The headers that repeat parts of a 2026-07-28 request (Streamable HTTP, request metadata). Omits
 * values that no header can carry; the server then reports the error.
 */
export function statelessHeaders(method: string, params: JsonObject): Record<string, string> {
  const meta = isJsonObject(params._meta) ? params._meta : {}
  const revision = meta[metaKeys.protocolVersion]
  const member = namedMembers.get(method)
  const name = member === undefined ? null : params[member]
  return {
    ...(typeof revision === 'string' &&
      isHeaderText(revision) && { 'MCP-Protocol-Version': revision }),
    ...(isHeaderText(method) && { 'Mcp-Method': method }),
    ...(typeof name === 'string' && { 'Mcp-Name': encodeHeaderValue(name) }),
  }
}
