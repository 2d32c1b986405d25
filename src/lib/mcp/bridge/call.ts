import type { JsonObject } from '../../util/json.ts'
import type { RequestId, RpcError } from '../json-rpc.ts'
import { claimOf, metaKeys, postHeaders, statelessHeaders } from '../request-metadata.ts'
import type { Upstream } from './connection.ts'
import type { BridgeContext } from './context.ts'
import type { Exchanged, ServerText } from './exchange.ts'
import { messageText, type RpcMessage, type RpcRequest } from './rpc.ts'
import type { ClientSession } from './session.ts'

/** A line of the client on its way: one message, or a batch. */
export class ClientCall {
  readonly line: string
  /** Null for a batch. */
  readonly message: RpcMessage | null
  /** The headers of a request of 2026-07-28, which names its revision; null for any other. */
  readonly statelessHeaders: Record<string, string> | null = null
  /** Aborted when the client no longer waits for the answer. */
  readonly cancelled = new AbortController()
  readonly #context: BridgeContext
  readonly #unanswered = new Map<RequestId, RpcRequest>()

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

  /** The client no longer waits for the answer to one of the requests. */
  cancel(id: RequestId): void {
    this.#unanswered.delete(id)
    if (this.message !== null) this.cancelled.abort()
  }

  /** Sends the POST and passes the messages of the answer to the client. */
  send(upstream: Upstream, session: ClientSession | null): Promise<Exchanged> {
    const headers = this.statelessHeaders ?? session?.headers ?? postHeaders
    const ask = { method: 'POST', headers, body: this.line, signal: this.cancelled.signal } as const
    return this.#context.connection.exchange(upstream, ask, {
      deliver: text =>
        this.pass(text, (request, result) =>
          session?.answered(request, { result, headers: text.headers }, upstream),
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
}
