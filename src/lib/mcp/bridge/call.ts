import type { JsonObject } from '../../util/json.ts'
import type { RpcError } from '../json-rpc.ts'
import { claimOf, metaKeys, postHeaders, statelessHeaders } from '../request-metadata.ts'
import type { Upstream } from './connection.ts'
import type { BridgeContext } from './context.ts'
import type { Exchanged, ServerText } from './exchange.ts'
import { messageText, type RpcMessage, type RpcRequest } from './rpc.ts'
import type { ClientSession } from './session.ts'

/** A message of the client on its way. */
export class Call {
  readonly line: string
  readonly message: RpcMessage
  /** The headers of a request of 2026-07-28, which names its revision; null for any other. */
  readonly statelessHeaders: Record<string, string> | null = null
  /** Aborted when the client no longer waits for the answer. */
  readonly cancelled = new AbortController()
  readonly #context: BridgeContext
  /** Null for anything but a request, and once the client has the answer or no longer waits. */
  #unanswered: RpcRequest | null = null

  constructor(context: BridgeContext, line: string, message: RpcMessage) {
    this.#context = context
    this.line = line
    this.message = message
    if (message.kind !== 'request') return
    this.#unanswered = message
    const { method, params } = message
    const revision = claimOf(params)?.[metaKeys.protocolVersion]
    if (revision === undefined) return
    this.statelessHeaders = statelessHeaders(method, params, String(revision))
  }

  /** The client no longer waits for the answer. */
  cancel(): void {
    this.#unanswered = null
    this.cancelled.abort()
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
      // A server that could not read the id sends an error without it.
      if (message.kind === 'response' && message.id === null) return this.refuse(message.error)
      const request = this.#unanswered
      const isAnswer = message.kind === 'response'
      if (isAnswer && message.id !== request?.id) continue
      isWanted = true
      if (!isAnswer || request === null) continue
      this.#unanswered = null
      if (message.result !== null) answered?.(request, message.result)
    }
    if (isWanted) await this.#context.output.send(line)
  }

  /** Answers the request with an error, unless it is answered. */
  async refuse(error: RpcError | null): Promise<void> {
    const request = this.#unanswered
    this.#unanswered = null
    if (request !== null) await this.#context.output.send(messageText({ id: request.id, error }))
  }
}
