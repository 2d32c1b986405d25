import { type JsonObject, isJsonObject } from '../json.ts'
import { metaKeys } from '../mcp/request-metadata.ts'
import { type Result, fail, ok } from '../result.ts'
import type { ClientRequest } from './client-message.ts'
import { type BridgeContext, postHeaders } from './context.ts'
import { type Exchanged, exchange, type ServerText } from './exchange.ts'
import type { OpenRequest } from './open-requests.ts'
import { askServer } from './own-request.ts'
import { statelessHeaders } from './request-headers.ts'
import { errorMessage, notificationMessage } from './rpc.ts'
import type { ServerMessage } from './server-message.ts'
import type { Target } from './target.ts'
import { refusalError, serverGone } from './trouble.ts'

export interface ListenStreamParts {
  readonly context: BridgeContext
  readonly request: ClientRequest
  readonly open: OpenRequest
  /** The stream ended and the client has no answer: it is to be opened again. */
  readonly lost: (reason: string) => void
  /** The client has its answer. */
  readonly done: () => void
}

type State = 'new' | 'open' | 'lost' | 'done'

/** One `subscriptions/listen` of the client, over as many HTTP streams as it takes. */
export class ListenStream {
  readonly #parts: ListenStreamParts
  #state: State = 'new'
  #acknowledged = false
  #catchingUp = false
  #stop = new AbortController()

  constructor(parts: ListenStreamParts) {
    this.#parts = parts
    parts.open.signal.addEventListener('abort', () => this.#finish(), { once: true })
  }

  get isLost(): boolean {
    return this.#state === 'lost'
  }

  /** The server is lost, or the bridge ends. */
  interrupt(): void {
    if (this.#state === 'open') this.#state = 'lost'
    this.#stop.abort()
  }

  /**
   * Opens it. Resolves when the server has acknowledged it or the client has its answer, with the
   * reason when it is neither.
   */
  start(target: Target): Promise<Result<void, string>> {
    if (this.#state === 'done') return Promise.resolve(ok(undefined))
    this.#stop = new AbortController()
    return new Promise(resolve => {
      const stop = this.#stop
      const settle = (outcome: Result<void, string>): void => {
        cancel()
        resolve(outcome)
      }
      const { timer, limits } = this.#parts.context
      const cancel = timer.after(limits.restoreMs, () => {
        if (this.#acknowledged) stop.abort()
        settle(fail('it does not acknowledge a subscription'))
      })
      void this.#run(target, stop.signal, () => settle(ok(undefined))).then(settle)
    })
  }

  async #run(
    target: Target,
    signal: AbortSignal,
    acknowledged: () => void,
  ): Promise<Result<void, string>> {
    const { context, request } = this.#parts
    let stood = false
    let last: Buffer | null = null
    const ended = await exchange(
      { ...context, silenceMs: null },
      {
        url: target.url,
        method: 'POST',
        headers: { ...postHeaders, ...statelessHeaders(request.method, request.params) },
        body: request.bytes,
        repeatable: true,
        answerMs: context.limits.answerMs,
        signal,
      },
      {
        deliver: async text => {
          const [message] = text.messages
          if (message === undefined || text.messages.length > 1) return true
          if (message.kind === 'response') {
            last = this.#answerOf(message, text)
            return last === null
          }
          if (isAcknowledgement(message)) {
            stood = true
            await this.#acknowledge(message.params, text.line)
            acknowledged()
          } else await context.output.send(text.line, () => this.#isOpen(signal))
          return true
        },
      },
    )
    if (this.#state === 'done') return ok(undefined)
    if (last !== null) return this.#answered(last, target, stood)
    return this.#broken(ended, target, stood)
  }

  async #acknowledge({ notifications }: JsonObject, line: Buffer): Promise<void> {
    if (this.#state === 'done') return
    this.#state = 'open'
    if (!this.#acknowledged) {
      this.#acknowledged = true
      return this.#parts.context.output.send(line, () => this.#state !== 'done')
    }
    // The client has had one; what it must know is that it may have missed something.
    if (this.#catchingUp) return
    this.#catchingUp = true
    const honoured = isJsonObject(notifications) ? notifications : {}
    void this.#catchUp(honoured).finally(() => (this.#catchingUp = false))
  }

  /** The server may have ended this one alone, or be about to end itself: then it is opened again. */
  async #answered(answer: Buffer, target: Target, stood: boolean): Promise<Result<void, string>> {
    if (stood && !(await this.#isServing(target))) return this.#again('it has stopped')
    await this.#parts.context.output.send(answer, () => this.#state !== 'done')
    this.#finish()
    return ok(undefined)
  }

  async #broken(ended: Exchanged, target: Target, stood: boolean): Promise<Result<void, string>> {
    const { context, request } = this.#parts
    const reason = ended.kind === 'broken' ? ended.reason : 'the stream of a subscription ended'
    if (this.#acknowledged) {
      const passing =
        ended.kind !== 'refused' || ended.status >= 500 || ended.status === 429 || stood
      if (passing) return this.#again(ended.kind === 'refused' ? `HTTP ${ended.status}` : reason)
    }
    const error =
      ended.kind === 'refused' ? refusalError(ended, target, context.keyed) : serverGone(reason)
    await context.output.send(errorMessage(request.id, error), () => this.#state !== 'done')
    this.#finish()
    if (ended.kind !== 'broken') return ok(undefined)
    if (!ended.begun) this.#parts.lost(reason)
    return fail(reason)
  }

  #again(reason: string): Result<void, string> {
    if (this.#state === 'open') {
      this.#state = 'lost'
      this.#parts.lost(reason)
    }
    return fail(reason)
  }

  #answerOf(message: ServerMessage & { kind: 'response' }, { line }: ServerText): Buffer | null {
    const { id } = this.#parts.request
    if (message.id === id) return line
    return message.id === null && message.error !== null ? errorMessage(id, message.error) : null
  }

  async #isServing(target: Target): Promise<boolean> {
    const { context, request } = this.#parts
    const method = 'server/discover'
    const params = { _meta: request.params._meta }
    const headers = { ...postHeaders, ...statelessHeaders(method, params) }
    const { signal } = this.#stop
    const answer = await askServer(context, { target, headers, method, params, signal })
    if (answer.kind === 'refused') return answer.status < 500
    return answer.kind !== 'broken'
  }

  /** What the server would have said had it been there. */
  async #catchUp(honoured: JsonObject): Promise<void> {
    const { context, request } = this.#parts
    const _meta = { [metaKeys.subscriptionId]: request.id }
    const wanted = () => this.#state === 'open'
    const tell = (method: string, params: JsonObject) =>
      context.output.send(notificationMessage(method, { ...params, _meta }), wanted)
    for (const kind of ['resources', 'tools', 'prompts']) {
      if (honoured[`${kind}ListChanged`] === true)
        await tell(`notifications/${kind}/list_changed`, {})
    }
    const { resourceSubscriptions: uris } = honoured
    if (!Array.isArray(uris)) return
    for (const uri of uris.slice(0, context.limits.maxSubscriptions)) {
      if (typeof uri === 'string') await tell('notifications/resources/updated', { uri })
    }
  }

  #isOpen(signal: AbortSignal): boolean {
    return this.#state !== 'done' && !signal.aborted
  }

  #finish(): void {
    if (this.#state === 'done') return
    this.#state = 'done'
    this.#stop.abort()
    this.#parts.done()
  }
}

function isAcknowledgement(
  message: ServerMessage,
): message is ServerMessage & { kind: 'notification' } {
  return (
    message.kind === 'notification' && message.method === 'notifications/subscriptions/acknowledged'
  )
}
