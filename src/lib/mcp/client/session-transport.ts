import { ServiceError } from '../../util/errors.ts'
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import { fail, ok, type Result } from '../../util/result.ts'
import { exchange } from '../bridge/exchange.ts'
import { notificationMessage } from '../bridge/rpc.ts'
import { openedSession, type Session, sessionHeaders } from '../bridge/session.ts'
import { version } from '../../util/version.ts'
import { ask, type Failed } from './ask.ts'
import type { ClientContext, McpSession, Subscription } from './context.ts'
import { failureOf } from './failure.ts'
import { openPushes } from './session-pushes.ts'

/** The newest revision with sessions; an older server answers with an older one. */
const newest = '2025-11-25'

/** Opens a session with `initialize`. The failure is the answer of the server. */
export async function openSession(
  context: ClientContext,
  url: URL,
  signal: AbortSignal,
): Promise<Result<McpSession, Failed>> {
  const params: JsonObject = {
    protocolVersion: newest,
    capabilities: {},
    clientInfo: { name: 'service-cli', version },
  }
  const method = 'initialize'
  const headers = sessionHeaders(null)
  const answer = await ask(context, { url, headers, id: 0, method, params, signal })
  if (answer.kind !== 'result') return fail(answer)
  const opened = openedSession(answer.result, answer.headers)
  if (opened === null) return fail({ kind: 'missing' })
  const session = new SessionTransport(context, {
    url,
    opened,
    resources: resourcesOf(answer.result),
  })
  await session.initialized(signal)
  return ok(session)
}

function resourcesOf({ capabilities }: JsonObject): boolean {
  return isJsonObject(capabilities) && isJsonObject(capabilities.resources)
}

interface Opened {
  readonly url: URL
  readonly opened: Session
  readonly resources: boolean
}

class SessionTransport implements McpSession {
  readonly url: URL
  readonly revision: string
  readonly #context: ClientContext
  readonly #session: Session
  readonly #resources: boolean
  readonly #stop = new AbortController()
  #lastId = 0

  constructor(context: ClientContext, { url, opened, resources }: Opened) {
    this.url = url
    this.revision = opened.revision
    this.#context = context
    this.#session = opened
    this.#resources = resources
  }

  /** Ignores a refusal: the next request fails then. */
  async initialized(signal: AbortSignal): Promise<void> {
    await this.notify(notificationMessage('notifications/initialized'), signal)
  }

  async notify(body: string, signal: AbortSignal): Promise<void> {
    const { answerMs } = this.#context.limits
    await exchange(
      { ...this.#context, silenceMs: answerMs },
      {
        url: this.url,
        method: 'POST',
        headers: this.#headers(),
        body,
        repeatable: true,
        answerMs,
        signal,
      },
      { deliver: async () => true },
    )
  }

  async request(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const id = ++this.#lastId
    const { url } = this
    const headers = this.#headers()
    const answer = await ask(this.#context, { url, headers, id, method, params, signal })
    if (answer.kind === 'result') return answer.result
    throw this.#failure(answer, method, typeof params.uri === 'string' ? params.uri : undefined)
  }

  async subscribe(uri: string, updated: () => void, signal: AbortSignal): Promise<Subscription> {
    if (!this.#session.pushes.updates) throw noPushes(this.#resources)
    const pushes = await openPushes({
      context: this.#context,
      url: this.url,
      headers: this.#headers(),
      signal: AbortSignal.any([signal, this.#stop.signal]),
      updated,
      reply: body => this.notify(body, signal),
    })
    await this.request('resources/subscribe', { uri }, signal)
    return pushes
  }

  async close(): Promise<void> {
    this.#stop.abort()
    if (this.#session.id === null) return
    const { farewellMs } = this.#context.limits
    await exchange(
      { ...this.#context, silenceMs: farewellMs },
      {
        url: this.url,
        method: 'DELETE',
        headers: this.#headers(),
        repeatable: false,
        answerMs: farewellMs,
        signal: AbortSignal.timeout(farewellMs),
      },
      { deliver: async () => false },
    ).catch(() => {})
  }

  #headers(): Record<string, string> {
    return sessionHeaders(this.#session)
  }

  #failure(answer: Failed, method: string, uri: string | undefined): ServiceError {
    if (answer.kind === 'refused' && answer.status === 404 && this.#session.id !== null) {
      return new ServiceError('session_ended', 'the server has ended the session')
    }
    const { limits, keyed } = this.#context
    const { maxAnswerBytes } = limits
    return failureOf(answer, { url: this.url, method, uri, keyed, maxAnswerBytes })
  }
}

function noPushes(resources: boolean): ServiceError {
  const what = resources ? 'does not announce updated resources' : 'has no resources'
  return new ServiceError('request_refused', `the server ${what}`, {
    hint: 'service-cli resources read URI shows the current state',
  })
}
