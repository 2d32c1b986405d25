import { setTimeout as delay } from 'node:timers/promises'
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import type { RpcError } from '../json-rpc.ts'
import { metaKeys } from '../request-metadata.ts'
import { serverGone } from './bridge-errors.ts'
import { streamOpenMs } from './client-session.ts'
import type { Connection, Upstream } from './connection.ts'
import { postHeaders } from './context.ts'
import type { Exchanged, ServerText } from './exchange.ts'
import { statelessHeaders } from './own-request.ts'
import type { Output } from './output.ts'
import { errorMessage, notificationMessage, type RpcRequest } from './rpc.ts'

interface ListenStreamParts {
  readonly connection: Connection
  readonly output: Output
  readonly request: RpcRequest
  /** The request as the client wrote it. */
  readonly line: string
  /** Aborted when the client cancels the subscription. */
  readonly cancelled: AbortSignal
}

interface ListenAnswer {
  readonly line: string
  readonly error: RpcError | null
}

/** Permanent errors: unknown method, unsupported version or capability. */
const permanentCodes = [-32601, -32020, -32021, -32022]

/** One `subscriptions/listen` of a client of 2026-07-28, opened again at each server that loses it. */
export class ListenStream {
  /** Resolves when the client has its answer, or has cancelled the subscription. */
  readonly done: Promise<void>
  readonly #parts: ListenStreamParts
  readonly #finish: () => void
  #isDone = false
  /** The client received the acknowledgement: from then on only an answer ends the subscription. */
  #isAcknowledged = false
  /** The server that the stream goes to. */
  #upstream: Upstream | null = null

  constructor(parts: ListenStreamParts) {
    this.#parts = parts
    const { promise, resolve } = Promise.withResolvers<void>()
    this.done = promise
    this.#finish = () => {
      this.#isDone = true
      resolve()
    }
    parts.cancelled.addEventListener('abort', this.#finish)
  }

  /** Opens the stream unless it is open. Resolves with false when it must be tried again. */
  async open(upstream: Upstream): Promise<boolean> {
    if (this.#isDone || this.#upstream === upstream) return true
    this.#upstream = upstream
    const acknowledged = Promise.withResolvers<boolean>()
    const ended = this.#run(upstream, () => acknowledged.resolve(true))
    const late = delay(streamOpenMs, true, { ref: false })
    return Promise.race([acknowledged.promise, ended, late])
  }

  /** Returns false when the stream must be opened again. */
  async #run(upstream: Upstream, acknowledged: () => void): Promise<boolean> {
    const { connection, request, line: body, cancelled } = this.#parts
    let answer = null as ListenAnswer | null
    const ended = await connection.exchange(
      upstream,
      {
        method: 'POST',
        headers: { ...postHeaders, ...statelessHeaders(request.method, request.params) },
        body,
        repeatable: true,
        isIdle: true,
        signal: AbortSignal.any([cancelled, connection.stopped, upstream.lost]),
      },
      {
        deliver: async ({ line, messages }: ServerText) => {
          const [message] = messages
          if (message?.kind !== 'response') {
            const method = message?.method
            if (method !== 'notifications/subscriptions/acknowledged') await this.#send(line)
            else await this.#acknowledge(message?.params ?? {}, line)
            acknowledged()
            return true
          }
          const { id, error } = message
          if (id === request.id) answer = { line, error }
          else if (error !== null) answer = { line: errorMessage(request.id, error), error }
          return answer === null
        },
      },
    )
    if (this.#isDone) return true
    const isFinal = await this.#isFinal(upstream, ended, answer)
    if (isFinal) return true
    this.#upstream = null
    connection.reconnect(ended.kind === 'ended' ? ended.retryMs : 0)
    return false
  }

  /** Answers the client when the end of the stream is that of the subscription. */
  async #isFinal(
    upstream: Upstream,
    ended: Exchanged,
    answer: ListenAnswer | null,
  ): Promise<boolean> {
    const { request } = this.#parts
    const error = answer?.error ?? (answer === null ? this.#errorOf(upstream, ended) : null)
    if (this.#isAcknowledged) {
      // A server that has just started may not offer everything yet.
      if (error !== null && !permanentCodes.includes(error.code)) return false
      // The server may end only this subscription, or be stopping: then it moves to the next server.
      if (error === null && !(await this.#isServing(upstream))) return false
    }
    if (answer !== null) await this.#send(answer.line)
    else if (error !== null) await this.#send(errorMessage(request.id, error))
    this.#finish()
    return true
  }

  #errorOf(upstream: Upstream, ended: Exchanged): RpcError {
    if (ended.kind === 'refused') return this.#parts.connection.refusal(ended, upstream)
    if (ended.kind === 'broken') return serverGone(ended.reason)
    if (upstream.lost.aborted) return serverGone(String(upstream.lost.reason.message))
    return serverGone('it ended the stream')
  }

  async #isServing(upstream: Upstream): Promise<boolean> {
    const { connection, request } = this.#parts
    const method = 'server/discover'
    const params = { _meta: request.params._meta }
    const headers = { ...postHeaders, ...statelessHeaders(method, params) }
    const answer = await connection.ask(upstream, headers, method, params).catch(() => null)
    return answer !== null && (answer.kind !== 'refused' || answer.status < 500)
  }

  async #acknowledge({ notifications }: JsonObject, line: string): Promise<void> {
    if (!this.#isAcknowledged) {
      this.#isAcknowledged = true
      return this.#send(line)
    }
    // The client already has an acknowledgement, but may have missed changes.
    const honoured = isJsonObject(notifications) ? notifications : {}
    const _meta = { [metaKeys.subscriptionId]: this.#parts.request.id }
    const notify = (method: string, params: JsonObject): Promise<void> =>
      this.#send(notificationMessage(method, { ...params, _meta }))
    for (const kind of ['resources', 'tools', 'prompts']) {
      const isWanted = honoured[`${kind}ListChanged`] === true
      if (isWanted) await notify(`notifications/${kind}/list_changed`, {})
    }
    const { resourceSubscriptions: uris } = honoured
    for (const uri of Array.isArray(uris) ? uris : []) {
      if (typeof uri === 'string') await notify('notifications/resources/updated', { uri })
    }
  }

  async #send(line: string): Promise<void> {
    if (!this.#isDone) await this.#parts.output.send(line)
  }
}
