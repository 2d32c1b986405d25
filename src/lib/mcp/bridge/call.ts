import type { JsonObject } from '../../util/json.ts'
import type { RequestId, RpcError } from '../json-rpc.ts'
import { claimOf, metaKeys, postHeaders, statelessHeaders } from '../request-metadata.ts'
import { answerIncomplete, answerTooLarge, serverGone } from './bridge-errors.ts'
import { maxAnswerBytes, type Upstream } from './connection.ts'
import type { BridgeContext } from './context.ts'
import type { Exchanged, ServerText } from './exchange.ts'
import { messageText, type RpcMessage, type RpcRequest } from './rpc.ts'
import type { ClientSession } from './session.ts'

/** A line of the client on its way: one message, or a batch. */
export class Call {
  readonly line: string
  /** Null for a batch. */
  readonly message: RpcMessage | null
  /** The headers of a request of 2026-07-28, which names its revision; null for any other. */
  readonly statelessHeaders: Record<string, string> | null = null
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
    for (const message of messages) {
      if (message?.kind === 'request') this.#unanswered.set(message.id, message)
    }
    if (this.message?.kind !== 'request') return
    const { method, params } = this.message
    const revision = claimOf(params)?.[metaKeys.protocolVersion]
    if (revision === undefined) return
    this.statelessHeaders = statelessHeaders(method, params, String(revision))
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
    const ask = { method: 'POST', headers, body: this.line, signal: this.cancelled } as const
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
    let isWanted = false
    for (const message of messages) {
      if (message.kind !== 'response' || message.id === null) {
        // A server that could not read the id sends an error without it.
        const error = message.kind === 'response' && this.message !== null ? message.error : null
        if (error !== null) return this.refuse(error)
        isWanted = true
        continue
      }
      const request = this.#unanswered.get(message.id)
      if (request === undefined) continue
      isWanted = true
      this.#unanswered.delete(message.id)
      if (message.result !== null) answered?.(request, message.result)
    }
    // The client ignores the unknown ones of a batch. A cancelled one is unknown, too.
    if (isWanted) await this.#context.output.send(line)
  }

  /** Answers all unanswered requests with an error. */
  async refuse(error: RpcError): Promise<void> {
    const { unanswered } = this
    this.#unanswered.clear()
    for (const { id } of unanswered) await this.#context.output.send(messageText({ id, error }))
  }

  /** Answers the unanswered requests according to the end of the exchange. */
  settle(ended: Exchanged, upstream: Upstream): Promise<void> {
    switch (ended.kind) {
      case 'aborted':
        return this.refuse(serverGone('the connection was closed'))
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
