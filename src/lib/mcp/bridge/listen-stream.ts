import { isJsonObject, type JsonObject } from '../../util/json.ts'
import { metaKeys } from '../request-metadata.ts'
import { fail, ok, type Result } from '../../util/result.ts'
import { retryDelay } from '../../util/time.ts'
import type { ClientRequest } from './client-message.ts'
import { type BridgeContext, postHeaders, type Target } from './context.ts'
import { type ListenEnd, listenOnce } from './listen-exchange.ts'
import type { OpenRequest } from './open-requests.ts'
import { askServer, statelessHeaders } from './own-request.ts'
import type { RpcError } from '../json-rpc.ts'
import { errorMessage, notificationMessage } from './rpc.ts'
import { refusalError, serverGone } from './trouble.ts'

interface ListenStreamParts {
  readonly context: BridgeContext
  readonly request: ClientRequest
  readonly open: OpenRequest
  /** The server is gone. */
  readonly lost: (reason: string) => void
  /** The client has its answer. */
  readonly done: () => void
}

/** `waiting`: the server is there, the stream is opened again after a pause. */
type State = 'new' | 'open' | 'waiting' | 'lost' | 'done'

/** What a server says that will never open the stream: no such method, version or capability. */
const lasting: readonly number[] = [-32601, -32020, -32021, -32022]

/** One `subscriptions/listen` of the client, over as many HTTP streams as it takes. */
export class ListenStream {
  readonly #parts: ListenStreamParts
  #state: State = 'new'
  /** The client has been told that it stands: from then on only an answer ends it. */
  #acknowledged = false
  #failures = 0
  #catchingUp = false
  #stop = new AbortController()
  #cancelRetry = (): void => {}

  constructor(parts: ListenStreamParts) {
    this.#parts = parts
    parts.open.signal.addEventListener('abort', () => this.#finish(), { once: true })
  }

  get isLost(): boolean {
    return this.#state === 'lost'
  }

  /** The server is lost. */
  interrupt(): void {
    // One that the client has not seen stand finds out by itself, and tells the client.
    if (this.#state !== 'open' && this.#state !== 'waiting') return
    this.#state = 'lost'
    this.#cancelRetry()
    this.#stop.abort()
  }

  /**
   * Opens it. Resolves when it stands, the client has its answer or the server wants it to be tried
   * later; with the reason when there is no server.
   */
  start(target: Target): Promise<Result<void, string>> {
    if (this.#state === 'done') return Promise.resolve(ok(undefined))
    const stop = new AbortController()
    this.#stop = stop
    return new Promise(resolve => {
      const { timer, limits } = this.#parts.context
      const cancel = timer.after(limits.restoreMs, () => {
        // The client itself may wait as long as it likes.
        if (this.#acknowledged) stop.abort()
        resolve(fail('it does not acknowledge a subscription'))
      })
      const settle = (outcome: Result<void, string>): void => {
        cancel()
        resolve(outcome)
      }
      void this.#run(target, stop.signal, () => settle(ok(undefined))).then(settle)
    })
  }

  async #run(
    target: Target,
    signal: AbortSignal,
    stands: () => void,
  ): Promise<Result<void, string>> {
    const { context, request } = this.#parts
    const end = await listenOnce(
      context,
      { request, target, signal },
      {
        acknowledged: async (params, line) => {
          await this.#stands(params, line)
          stands()
        },
        notified: line => context.output.send(line, () => !signal.aborted),
      },
    )
    if (this.#state === 'done') return ok(undefined)
    return end.kind === 'answer' ? this.#answered(end, target) : this.#unanswered(end, target)
  }

  async #stands({ notifications }: JsonObject, line: Buffer): Promise<void> {
    if (this.#state === 'done') return
    this.#state = 'open'
    this.#failures = 0
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

  async #answered(
    { line, error, stood }: ListenEnd & { kind: 'answer' },
    target: Target,
  ): Promise<Result<void, string>> {
    // It may have ended this one alone, or be about to end itself: then it is opened again.
    if (stood && error === null && !(await this.#isServing(target))) {
      return this.#lose('it has stopped')
    }
    if (!stood && this.#mayPass(error)) return this.#later(target)
    return this.#finishWith(line)
  }

  async #unanswered(
    { ended }: ListenEnd & { kind: 'no_answer' },
    target: Target,
  ): Promise<Result<void, string>> {
    const { context, request } = this.#parts
    if (ended.kind === 'aborted') return this.#acknowledged ? this.#later(target) : ok(undefined)
    const gone = ended.kind === 'broken' && !ended.begun
    if (this.#acknowledged && gone) return this.#lose(ended.reason)
    const error =
      ended.kind === 'refused'
        ? refusalError(ended, target, context.keyed)
        : serverGone(ended.kind === 'broken' ? ended.reason : 'it ended the stream')
    if (this.#mayPass(error)) return this.#later(target)
    await this.#finishWith(errorMessage(request.id, error))
    if (gone) this.#parts.lost(ended.reason)
    return ok(undefined)
  }

  /** A server that has just started may not have what is asked for yet. */
  #mayPass(error: RpcError | null): boolean {
    return this.#acknowledged && error !== null && !lasting.includes(error.code)
  }

  #lose(reason: string): Result<void, string> {
    if (this.#state === 'open' || this.#state === 'waiting') {
      this.#state = 'lost'
      this.#parts.lost(reason)
    }
    return fail(reason)
  }

  #later(target: Target): Result<void, string> {
    const { timer, random } = this.#parts.context
    // Interrupted: whoever did it opens it again.
    if (this.#state === 'lost' && this.#stop.signal.aborted) return fail('it was interrupted')
    this.#state = 'waiting'
    this.#cancelRetry = timer.after(retryDelay(this.#failures++, random), () => {
      if (this.#state === 'waiting') void this.start(target)
    })
    return ok(undefined)
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
    const tell = (method: string, params: JsonObject) =>
      context.output.send(
        notificationMessage(method, { ...params, _meta }),
        () => this.#state === 'open',
      )
    for (const kind of ['resources', 'tools', 'prompts']) {
      const wanted = honoured[`${kind}ListChanged`] === true
      if (wanted) await tell(`notifications/${kind}/list_changed`, {})
    }
    const { resourceSubscriptions: uris } = honoured
    if (!Array.isArray(uris)) return
    for (const uri of uris.slice(0, context.limits.maxSubscriptions)) {
      if (typeof uri === 'string') await tell('notifications/resources/updated', { uri })
    }
  }

  async #finishWith(answer: Buffer): Promise<Result<void, string>> {
    await this.#parts.context.output.send(answer, () => this.#state !== 'done')
    this.#finish()
    return ok(undefined)
  }

  #finish(): void {
    if (this.#state === 'done') return
    this.#state = 'done'
    this.#cancelRetry()
    this.#stop.abort()
    this.#parts.done()
  }
}
