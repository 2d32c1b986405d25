import type { IncomingHttpHeaders } from 'node:http'
import type { Logger } from '../../util/logger.ts'
import type { RequestId, RpcError } from '../json-rpc.ts'
import { answerCut, answerMissing, answerTooLarge, serverGone } from './bridge-errors.ts'
import { type Connection, maxAnswerBytes, type Upstream } from './connection.ts'
import type { Exchanged, ServerText } from './exchange.ts'
import type { Output } from './output.ts'
import { errorMessage, type RpcRequest, type RpcResponse } from './rpc.ts'

/** An unanswered request of the client. */
export interface OpenRequest {
  readonly request: RpcRequest
  /** Aborted when the client no longer waits for the answer. */
  readonly cancelled: AbortController
}

interface CallParts {
  readonly connection: Connection
  readonly output: Output
  readonly log: Logger
  readonly line: string
  /** The requests that wait for an answer: several in a batch, none for a notification. */
  readonly requests: readonly OpenRequest[]
}

/** Which request the server answered, and in which HTTP response. */
export type Answered = (
  request: RpcRequest,
  response: RpcResponse,
  headers: IncomingHttpHeaders,
) => void

/** Forwards one message of the client and its answers. */
export class Call {
  readonly signal: AbortSignal
  readonly #parts: CallParts
  readonly #unanswered: Map<RequestId, OpenRequest>
  /** `tools/call` may have side effects and is never sent twice. */
  readonly #hasEffects: boolean

  constructor(parts: CallParts) {
    const { connection, requests } = parts
    this.#parts = parts
    this.#unanswered = new Map(requests.map(open => [open.request.id, open]))
    this.#hasEffects = requests.some(({ request }) => request.method === 'tools/call')
    const [only, further] = requests
    const isOne = only !== undefined && further === undefined
    this.signal = isOne
      ? AbortSignal.any([only.cancelled.signal, connection.stopped])
      : connection.stopped
  }

  /** Sends the POST and passes the messages of the answer to the client. */
  run(
    upstream: Upstream,
    headers: Record<string, string>,
    { answered }: { answered?: Answered } = {},
  ): Promise<Exchanged> {
    const ask = {
      method: 'POST',
      headers,
      body: this.#parts.line,
      repeatable: !this.#hasEffects,
      // A tool may take its time, such as wait_for_change.
      isHeld: this.#hasEffects,
      signal: this.signal,
    } as const
    return this.#parts.connection.exchange(upstream, ask, {
      deliver: async text => {
        await this.#pass(text, answered)
        return true
      },
    })
  }

  /** Answers all unanswered requests with an error. */
  async refuse(error: RpcError): Promise<void> {
    const left = [...this.#unanswered.values()]
    this.#unanswered.clear()
    for (const { request, cancelled } of left) {
      if (cancelled.signal.aborted) continue
      await this.#parts.output.send(errorMessage(request.id, error))
    }
  }

  /** Answers the unanswered requests according to the end of the exchange. */
  async settle(ended: Exchanged, upstream: Upstream): Promise<void> {
    switch (ended.kind) {
      case 'aborted':
        return
      case 'ended':
        return this.refuse(answerMissing())
      case 'oversize':
        return this.refuse(answerTooLarge(maxAnswerBytes))
      case 'refused':
        return this.refuse(this.#parts.connection.refusal(ended, upstream))
      case 'broken':
        return this.refuse(ended.begun ? answerCut() : serverGone(ended.reason))
    }
  }

  async #pass({ line, messages, headers }: ServerText, answered?: Answered): Promise<void> {
    const { log, output, requests } = this.#parts
    const isBatch = /^\s*\[/.test(line)
    let unknown = 0
    for (const message of messages) {
      if (message.kind !== 'response') continue
      if (message.id === null) {
        // In a batch it answers one invalid element, beside the answers to the valid ones.
        if (isBatch || message.error === null) continue
        // A server that could not read the id sends an error without it.
        return this.refuse(message.error)
      }
      const open = this.#unanswered.get(message.id)
      if (open === undefined) {
        log.warn({ id: message.id }, 'dropped a response with an unknown id')
        unknown++
        continue
      }
      this.#unanswered.delete(message.id)
      answered?.(open.request, message, headers)
    }
    // The client ignores the unknown ones of a batch.
    if (unknown === messages.length) return
    const isWanted = requests.length === 0 || requests.some(one => !one.cancelled.signal.aborted)
    if (isWanted) await output.send(line)
  }
}
