import { isJsonObject, type JsonObject } from '../../util/json.ts'
import { metaKeys } from '../request-metadata.ts'
import { fail, ok, type Result } from '../../util/result.ts'
import { retryDelay } from '../../util/time.ts'
import type { ClientRequest } from './client-message.ts'
import { type BridgeContext, postHeaders, type Target } from './context.ts'
import type { OpenRequest } from './open-requests.ts'
import { askServer, statelessHeaders } from './own-request.ts'
import type { RpcError } from '../json-rpc.ts'
import { errorMessage, notificationMessage } from './rpc.ts'
import { refusalError, serverGone } from './bridge-errors.ts'
import { exchange, type Exchanged, type ServerText } from './exchange.ts'

interface ListenStreamParts {
  readonly context: BridgeContext
  readonly request: ClientRequest
  readonly open: OpenRequest
  /** The server is gone. */
  readonly lost: (reason: string) => void
  /** The client has its answer. */
  readonly done: () => void
}

/** `waiting`: the server is reachable and the stream reopens after a pause. */
type State = 'new' | 'open' | 'waiting' | 'lost' | 'done'

/** Permanent errors: unknown method, unsupported version or capability. */
const permanentCodes: readonly number[] = [-32601, -32020, -32021, -32022]

/** One `subscriptions/listen` of the client; reopens HTTP streams as needed. */
export class ListenStream {
  readonly #parts: ListenStreamParts
  #state: State = 'new'
  /** The client received the acknowledgement: from then on only an answer ends the subscription. */
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

  /** Ends the stream because the server is lost. */
  interrupt(): void {
    // A stream that is not acknowledged yet fails by itself and answers the client.
    if (this.#state !== 'open' && this.#state !== 'waiting') return
    this.#state = 'lost'
    this.#cancelRetry()
    this.#stop.abort()
  }

  /**
   * Opens the stream. Resolves when it is acknowledged, answered or postponed; with a reason when
   * the server is unreachable.
   */
  start(target: Target): Promise<Result<void, string>> {
    if (this.#state === 'done') return Promise.resolve(ok(undefined))
    const stop = new AbortController()
    this.#stop = stop
    return new Promise(resolve => {
      const { timer, limits } = this.#parts.context
      const cancel = timer.after(limits.restoreMs, () => {
        // Before the first acknowledgement the client decides how long to wait.
        if (this.#acknowledged) stop.abort()
        resolve(fail('it does not acknowledge the subscription'))
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
    acknowledged: () => void,
  ): Promise<Result<void, string>> {
    const { context, request } = this.#parts
    const end = await listenOnce(
      context,
      { request, target, signal },
      {
        acknowledged: async (params, line) => {
          await this.#acknowledge(params, line)
          acknowledged()
        },
        notified: line => context.output.send(line, () => !signal.aborted),
      },
    )
    if (this.#state === 'done') return ok(undefined)
    return end.kind === 'answer' ? this.#answered(end, target) : this.#unanswered(end, target)
  }

  async #acknowledge({ notifications }: JsonObject, line: Buffer): Promise<void> {
    if (this.#state === 'done') return
    this.#state = 'open'
    this.#failures = 0
    if (!this.#acknowledged) {
      this.#acknowledged = true
      return this.#parts.context.output.send(line, () => this.#state !== 'done')
    }
    // The client already has an acknowledgement, but may have missed changes.
    if (this.#catchingUp) return
    this.#catchingUp = true
    const honoured = isJsonObject(notifications) ? notifications : {}
    void this.#catchUp(honoured).finally(() => (this.#catchingUp = false))
  }

  async #answered(
    { line, error, acknowledged }: ListenEnd & { kind: 'answer' },
    target: Target,
  ): Promise<Result<void, string>> {
    // The server may end only this subscription, or be stopping: then reopen it at the next server.
    if (acknowledged && error === null && !(await this.#isServing(target))) {
      return this.#lose('it has stopped')
    }
    if (!acknowledged && this.#isTemporary(error)) return this.#retryLater(target)
    return this.#finishWith(line)
  }

  async #unanswered(
    { ended }: ListenEnd & { kind: 'no_answer' },
    target: Target,
  ): Promise<Result<void, string>> {
    const { context, request } = this.#parts
    if (ended.kind === 'aborted')
      return this.#acknowledged ? this.#retryLater(target) : ok(undefined)
    const gone = ended.kind === 'broken' && !ended.begun
    if (this.#acknowledged && gone) return this.#lose(ended.reason)
    const error =
      ended.kind === 'refused'
        ? refusalError(ended, target, context.keyed)
        : serverGone(ended.kind === 'broken' ? ended.reason : 'it ended the stream')
    if (this.#isTemporary(error)) return this.#retryLater(target)
    await this.#finishWith(errorMessage(request.id, error))
    if (gone) this.#parts.lost(ended.reason)
    return ok(undefined)
  }

  /** A server that has just started may not offer everything yet. */
  #isTemporary(error: RpcError | null): boolean {
    return this.#acknowledged && error !== null && !permanentCodes.includes(error.code)
  }

  #lose(reason: string): Result<void, string> {
    if (this.#state === 'open' || this.#state === 'waiting') {
      this.#state = 'lost'
      this.#parts.lost(reason)
    }
    return fail(reason)
  }

  #retryLater(target: Target): Result<void, string> {
    const { timer, random } = this.#parts.context
    // The recovery interrupted the stream and will reopen it.
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

  /** Sends the notifications that the client may have missed. */
  async #catchUp(honoured: JsonObject): Promise<void> {
    const { context, request } = this.#parts
    const _meta = { [metaKeys.subscriptionId]: request.id }
    const notify = (method: string, params: JsonObject) =>
      context.output.send(
        notificationMessage(method, { ...params, _meta }),
        () => this.#state === 'open',
      )
    for (const kind of ['resources', 'tools', 'prompts']) {
      const wanted = honoured[`${kind}ListChanged`] === true
      if (wanted) await notify(`notifications/${kind}/list_changed`, {})
    }
    const { resourceSubscriptions: uris } = honoured
    if (!Array.isArray(uris)) return
    for (const uri of uris.slice(0, context.limits.maxSubscriptions)) {
      if (typeof uri === 'string') await notify('notifications/resources/updated', { uri })
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

interface ListenHooks {
  /** Called first, with the part of the filter that the server accepts. */
  readonly acknowledged: (params: JsonObject, line: Buffer) => Promise<void>
  readonly notified: (line: Buffer) => Promise<void>
}

/** How one stream of a subscription ended. `acknowledged`: the server had accepted it. */
type ListenEnd =
  /** The server answered the request: with a result when it stops, or with an error. */
  | {
      readonly kind: 'answer'
      readonly line: Buffer
      readonly error: RpcError | null
      readonly acknowledged: boolean
    }
  | { readonly kind: 'no_answer'; readonly ended: Exchanged; readonly acknowledged: boolean }

/** Opens one `subscriptions/listen` stream and forwards its messages. Never rejects. */
async function listenOnce(
  context: BridgeContext,
  { request, target, signal }: { request: ClientRequest; target: Target; signal: AbortSignal },
  hooks: ListenHooks,
): Promise<ListenEnd> {
  let acknowledged = false
  const answers: { line: Buffer; error: RpcError | null }[] = []

  async function deliver({ line, messages }: ServerText): Promise<boolean> {
    const [message, further] = messages
    if (message === undefined || further !== undefined) return true
    if (message.kind !== 'response') {
      const { kind, method } = message
      if (kind === 'notification' && method === 'notifications/subscriptions/acknowledged') {
        acknowledged = true
        await hooks.acknowledged(message.params, line)
      } else await hooks.notified(line)
      return true
    }
    const { id, error } = message
    if (id === request.id) answers.push({ line, error })
    else if (id === null && error !== null) {
      answers.push({ line: errorMessage(request.id, error), error })
    }
    return answers.length === 0
  }

  const ended = await exchange(
    // An idle stream is not broken.
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
    { deliver },
  )
  const [answer] = answers
  return answer === undefined
    ? { kind: 'no_answer', ended, acknowledged }
    : { kind: 'answer', ...answer, acknowledged }
}
