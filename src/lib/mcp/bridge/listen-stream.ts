import { setTimeout as delay } from 'node:timers/promises'
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import type { RpcError } from '../json-rpc.ts'
import { metaKeys } from '../request-metadata.ts'
import { serverGone, Unreachable } from './bridge-errors.ts'
import type { Call } from './call.ts'
import { type Connection, streamOpenMs, type Upstream } from './connection.ts'
import type { Exchanged, ServerText } from './exchange.ts'
import type { Output } from './output.ts'
import { errorMessage, notificationMessage, type RpcRequest } from './rpc.ts'

interface ListenStreamParts {
  readonly connection: Connection
  readonly output: Output
  readonly request: RpcRequest
  readonly call: Call
}

interface ListenAnswer {
  readonly line: string
  readonly error: RpcError | null
}

/** Permanent errors: unknown method, unsupported version or capability. */
const permanentCodes = [-32601, -32020, -32021, -32022]

/** One `subscriptions/listen` of a client of 2026-07-28, opened again whenever its stream ends. */
export class ListenStream {
  /** Resolves when the client has its answer, or has cancelled the subscription. */
  readonly done: Promise<void>
  readonly #parts: ListenStreamParts
  readonly #finish: () => void
  #isDone = false
  /** The client received the acknowledgement: from then on only an error ends the subscription. */
  #isAcknowledged = false
  /** The server that the stream goes to. */
  #streaming: Upstream | null = null

  constructor(parts: ListenStreamParts) {
    this.#parts = parts
    const { promise, resolve } = Promise.withResolvers<void>()
    this.done = promise
    this.#finish = () => {
      this.#isDone = true
      resolve()
    }
    parts.call.cancelled.addEventListener('abort', this.#finish)
  }

  /** Opens the stream unless it is open. Resolves with false when it must be tried again. */
  async openStream(upstream: Upstream): Promise<boolean> {
    if (this.#isDone || this.#streaming === upstream) return true
    this.#streaming = upstream
    const begun = Promise.withResolvers<boolean>()
    const ended = this.#stream(upstream, () => begun.resolve(true))
    return Promise.race([begun.promise, ended, delay(streamOpenMs, true, { ref: false })])
  }

  /** Resolves with false when the stream must be opened again. */
  async #stream(upstream: Upstream, begun: () => void): Promise<boolean> {
    const { connection, request, call } = this.#parts
    let answer = null as ListenAnswer | null
    const deliver = async ({ line, messages: [message] }: ServerText): Promise<boolean> => {
      if (message?.kind === 'response') {
        const { id, error } = message
        if (id === request.id) answer = { line, error }
        else if (error !== null) answer = { line: errorMessage(request.id, error), error }
        return answer === null
      }
      if (message?.method === 'notifications/subscriptions/acknowledged') {
        await this.#acknowledge(message.params, line)
      } else await this.#send(line)
      begun()
      return true
    }
    const headers = call.statelessHeaders ?? {}
    const asked = { headers, body: call.line, signal: call.cancelled }
    const ask = { method: 'POST', ...asked, isStream: true } as const
    const ended = await connection.exchange(upstream, ask, { deliver })
    const error = answer === null ? this.#errorOf(upstream, ended) : answer.error
    // The server may be stopping, or have started just now and not offer everything yet.
    const isFinal = error !== null && permanentCodes.includes(error.code)
    if (this.#isAcknowledged && !isFinal && !this.#isDone) {
      // Another server may have its stream by now.
      if (this.#streaming !== upstream) return true
      this.#streaming = null
      connection.reconnect(ended.kind === 'ended' ? ended.retryMs : 0)
      return false
    }
    if (answer !== null) await this.#send(answer.line)
    else if (error !== null) await this.#send(errorMessage(request.id, error))
    this.#finish()
    return true
  }

  #errorOf(upstream: Upstream, ended: Exchanged): RpcError {
    if (ended.kind === 'refused') return this.#parts.connection.refusal(ended, upstream)
    const { reason } = ended.kind === 'broken' ? ended : { reason: 'it ended the stream' }
    const lost: unknown = upstream.lost.signal.reason
    return serverGone(lost instanceof Unreachable ? lost.message : reason)
  }

  async #acknowledge({ notifications }: JsonObject, line: string): Promise<void> {
    if (!this.#isAcknowledged) {
      this.#isAcknowledged = true
      return this.#send(line)
    }
    // The client already has an acknowledgement, but may have missed changes.
    const honoured = isJsonObject(notifications) ? notifications : {}
    const _meta = { [metaKeys.subscriptionId]: this.#parts.request.id }
    for (const kind of ['resources', 'tools', 'prompts']) {
      const method = `notifications/${kind}/list_changed`
      if (honoured[`${kind}ListChanged`] !== true) continue
      await this.#send(notificationMessage(method, { _meta }))
    }
    const { resourceSubscriptions: uris } = honoured
    for (const uri of Array.isArray(uris) ? uris : []) {
      await this.#send(notificationMessage('notifications/resources/updated', { uri, _meta }))
    }
  }

  async #send(line: string): Promise<void> {
    if (!this.#isDone) await this.#parts.output.send(line)
  }
}
