import type { RequestId, RpcError } from '../json-rpc.ts'
import type { BridgeContext, Target } from './context.ts'
import { exchange, type Exchanged, type ServerText } from './exchange.ts'
import type { HttpAsk } from './http-link.ts'
import type { OpenRequest } from './open-requests.ts'
import { errorMessage } from './rpc.ts'
import { isBatch } from './server-message.ts'
import {
  answerCut,
  answerMissing,
  answerTooLarge,
  refusalError,
  serverGone,
} from './bridge-errors.ts'

interface CallParts {
  readonly body: Buffer
  /** The requests that wait for an answer: several in a batch, none for a notification. */
  readonly requests: readonly OpenRequest[]
  /** False for `tools/call`, which may have side effects and is never sent twice. */
  readonly repeatable: boolean
  readonly signal: AbortSignal
}

/** Forwards one message of the client and its answers. */
export class Call {
  readonly #context: BridgeContext
  readonly #parts: CallParts
  readonly #unanswered: Map<RequestId, OpenRequest>

  constructor(context: BridgeContext, parts: CallParts) {
    this.#context = context
    this.#parts = parts
    this.#unanswered = new Map(parts.requests.map(request => [request.id, request]))
  }

  get signal(): AbortSignal {
    return this.#parts.signal
  }

  /** Sends the POST. `inspect` sees each text before the client does. */
  run(
    target: Target,
    headers: Record<string, string>,
    inspect: (text: ServerText) => void = () => {},
  ): Promise<Exchanged> {
    const { limits } = this.#context
    const { body, repeatable, signal } = this.#parts
    const ask: HttpAsk = {
      url: target.url,
      method: 'POST',
      headers,
      body,
      repeatable,
      answerMs: limits.answerMs,
      // A tool may take its time, such as wait_for_change.
      isHeld: !repeatable,
      signal,
    }
    return exchange({ ...this.#context, silenceMs: limits.answerMs }, ask, {
      deliver: async text => {
        inspect(text)
        await this.pass(text)
        return true
      },
    })
  }

  /** Sends a text of the server to the client if it answers a waiting request. */
  async pass(text: ServerText): Promise<void> {
    const { line, messages } = text
    const answered: OpenRequest[] = []
    for (const message of messages) {
      if (message.kind !== 'response') continue
      if (message.id === null && message.error !== null) {
        // In a batch it answers one invalid element, beside the answers to the valid ones.
        if (isBatch(line)) continue
        // A server that could not read the id sends an error without it.
        return this.refuse(message.error)
      }
      const request = message.id === null ? undefined : this.#unanswered.get(message.id)
      if (request === undefined) {
        this.#context.log.warn({ id: message.id }, 'dropped a response with an unknown id')
        return
      }
      answered.push(request)
    }
    for (const { id } of answered) this.#unanswered.delete(id)
    const waiting = this.#parts.requests
    const wanted = () => waiting.length === 0 || waiting.some(request => request.wanted)
    await this.#context.output.send(line, wanted)
  }

  /** Answers all unanswered requests with an error. */
  async refuse(error: RpcError): Promise<void> {
    const left = [...this.#unanswered.values()]
    this.#unanswered.clear()
    const { output } = this.#context
    await Promise.all(
      left.map(request => output.send(errorMessage(request.id, error), () => request.wanted)),
    )
  }

  /** Answers the unanswered requests according to the end of the exchange. */
  async settle(end: Exchanged, target: Target): Promise<void> {
    if (end.kind !== 'aborted') await this.refuse(this.#errorOf(end, target))
  }

  #errorOf(end: Exclude<Exchanged, { kind: 'aborted' }>, target: Target): RpcError {
    switch (end.kind) {
      case 'ended':
        return answerMissing()
      case 'oversize':
        return answerTooLarge(this.#context.limits.maxAnswerBytes)
      case 'refused':
        return refusalError(end, target, this.#context.keyed)
      case 'broken':
        return end.begun ? answerCut() : serverGone(end.reason)
    }
  }
}
