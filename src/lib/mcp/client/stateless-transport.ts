import { ServiceError } from '../../util/errors.ts'
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import { fail, ok, type Result } from '../../util/result.ts'
import { postHeaders } from '../bridge/context.ts'
import { exchange } from '../bridge/exchange.ts'
import { statelessHeaders, withMeta } from '../bridge/own-request.ts'
import { requestMessage } from '../bridge/rpc.ts'
import { type Answer, asAnswer, ask, type Failed } from './ask.ts'
import type { ClientContext, McpSession, SubscriptionEnd, Subscription } from './context.ts'
import { failureOf } from './failure.ts'

const revision = '2026-07-28'

/** Checks with `server/discover` that the server offers this transport. */
export async function openStateless(
  context: ClientContext,
  url: URL,
  signal: AbortSignal,
): Promise<Result<McpSession, Failed>> {
  const session = new StatelessTransport(context, url)
  const answer = await session.ask('server/discover', {}, signal)
  if (answer.kind !== 'result') return fail(answer)
  return ok(session)
}

class StatelessTransport implements McpSession {
  readonly url: URL
  readonly revision = revision
  readonly #context: ClientContext
  readonly #stop = new AbortController()
  #lastId = 0

  constructor(context: ClientContext, url: URL) {
    this.#context = context
    this.url = url
  }

  ask(method: string, params: JsonObject, signal: AbortSignal): Promise<Answer> {
    const { url } = this
    const own = withMeta(params)
    const headers = { ...postHeaders, ...statelessHeaders(method, own) }
    const id = ++this.#lastId
    return ask(this.#context, { url, headers, id, method, params: own, signal })
  }

  async request(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const answer = await this.ask(method, params, signal)
    if (answer.kind === 'result') return answer.result
    throw this.#failure(answer, method, typeof params.uri === 'string' ? params.uri : undefined)
  }

  async subscribe(uri: string, updated: () => void, signal: AbortSignal): Promise<Subscription> {
    const acknowledged = Promise.withResolvers<JsonObject | null>()
    const ended = this.#listen(uri, { acknowledged: acknowledged.resolve, updated }, signal)
    const { timer, limits } = this.#context
    const cancel = timer.after(limits.standMs, () => acknowledged.resolve(null))
    const first = await Promise.race([acknowledged.promise, ended]).finally(cancel)
    if (first === null) {
      throw new ServiceError('net_timeout', 'the server does not confirm the subscription')
    }
    if (isEnd(first)) {
      if (first.kind === 'refused') throw first.error
      throw new ServiceError('network_failed', `${this.url.host} is lost: ${first.reason}`)
    }
    if (!honours(first, uri)) {
      throw new ServiceError('request_refused', `the server does not announce updates of ${uri}`)
    }
    return { ended }
  }

  async close(): Promise<void> {
    this.#stop.abort()
  }

  /** Runs one `subscriptions/listen` to its end. */
  async #listen(
    uri: string,
    hooks: { acknowledged: (params: JsonObject) => void; updated: () => void },
    signal: AbortSignal,
  ): Promise<SubscriptionEnd> {
    const method = 'subscriptions/listen'
    const params = withMeta({ notifications: { resourceSubscriptions: [uri] } })
    const id = ++this.#lastId
    const answers: Answer[] = []
    const ended = await exchange(
      // An idle stream is not broken.
      { ...this.#context, silenceMs: null },
      {
        url: this.url,
        method: 'POST',
        headers: { ...postHeaders, ...statelessHeaders(method, params) },
        body: requestMessage(id, method, params),
        repeatable: true,
        answerMs: this.#context.limits.answerMs,
        signal: AbortSignal.any([signal, this.#stop.signal]),
      },
      {
        async deliver({ messages }) {
          for (const message of messages) {
            if (message.kind === 'response') {
              if (message.error !== null) answers.push({ kind: 'error', error: message.error })
              else answers.push({ kind: 'missing' })
            } else if (message.method === 'notifications/subscriptions/acknowledged') {
              hooks.acknowledged(message.params)
            } else if (message.method === 'notifications/resources/updated') hooks.updated()
          }
          return answers.length === 0
        },
      },
    )
    const answer = answers[0] ?? asAnswer(ended)
    if (answer.kind === 'error' || (answer.kind === 'refused' && answer.status < 500)) {
      return { kind: 'refused', error: this.#failure(answer, method, uri) }
    }
    const reason = answer.kind === 'broken' ? answer.reason : 'it closed the event stream'
    return { kind: 'lost', reason }
  }

  #failure(answer: Failed, method: string, uri: string | undefined): ServiceError {
    const { limits, keyed } = this.#context
    const { maxAnswerBytes } = limits
    return failureOf(answer, { url: this.url, method, uri, keyed, maxAnswerBytes })
  }
}

function isEnd(first: JsonObject | SubscriptionEnd): first is SubscriptionEnd {
  return first.kind === 'lost' || first.kind === 'refused'
}

function honours({ notifications }: JsonObject, uri: string): boolean {
  const uris = isJsonObject(notifications) ? notifications.resourceSubscriptions : undefined
  return Array.isArray(uris) && uris.includes(uri)
}
