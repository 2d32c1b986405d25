import { fail, ok, type Result } from '../../util/result.ts'
import { Call } from './call.ts'
import type {
  ClientBatch,
  ClientNotification,
  ClientRequest,
  ClientResponse,
} from './client-message.ts'
import { type BridgeContext, shownUrl, type Target } from './context.ts'
import type { ServerText } from './exchange.ts'
import type { OpenRequest } from './open-requests.ts'
import type { Recovery, Restorable } from './recovery.ts'
import { SessionPush } from './session-push.ts'
import {
  isSessionAlive,
  openSessionAgain,
  type RestoreParts,
  subscribeAgain,
} from './session-restore.ts'
import { openedSession, type Session, sessionHeaders } from './session.ts'
import { Subscriptions } from './subscriptions.ts'
import { serverGone } from './bridge-errors.ts'

/** Forwards messages of the session transport (2024-11-05 to 2025-11-25). */
export class SessionTransport implements Restorable {
  readonly #context: BridgeContext
  readonly #recovery: Recovery
  readonly #subscriptions: Subscriptions
  readonly #push: SessionPush
  readonly #stop = new AbortController()
  #session: Session | null = null
  /** Where the session was opened. */
  #url = ''
  /** Later messages wait for this: `initialize` and `initialized` keep their order. */
  #beginning: Promise<void> = Promise.resolve()

  constructor(context: BridgeContext, recovery: Recovery) {
    this.#context = context
    this.#recovery = recovery
    this.#subscriptions = new Subscriptions(context.limits.maxSubscriptions)
    this.#push = new SessionPush({
      context,
      recovery,
      subscriptions: this.#subscriptions,
      session: () => this.#session,
      ended: (session, generation) => this.#ended(session, generation),
      signal: this.#stop.signal,
    })
  }

  async request(request: ClientRequest, open: OpenRequest): Promise<void> {
    const isFirst = request.method === 'initialize'
    const call = new Call(this.#context, {
      body: request.bytes,
      requests: [open],
      repeatable: request.method !== 'tools/call',
      signal: open.signal,
    })
    if (isFirst) return this.#begin(() => this.#initialize(request, call))
    await this.#beginning
    this.#subscriptions.asked(request)
    await this.#send(call, ({ messages }) => {
      for (const message of messages) this.#subscriptions.answered(message)
    })
    this.#subscriptions.forget(request.id)
  }

  async notify(notification: ClientNotification): Promise<void> {
    const call = this.#quiet(notification.bytes)
    if (notification.method === 'notifications/initialized') {
      return this.#begin(() => this.#initialized(call))
    }
    await this.#beginning
    await this.#tell(call)
  }

  async respond({ bytes }: ClientResponse): Promise<void> {
    await this.#beginning
    await this.#tell(this.#quiet(bytes))
  }

  async batch(batch: ClientBatch, open: OpenRequest[]): Promise<void> {
    const { bytes: body, requests } = batch
    const repeatable = requests.every(({ method }) => method !== 'tools/call')
    const signal = this.#stop.signal
    const call = new Call(this.#context, { body, requests: open, repeatable, signal })
    await this.#beginning
    for (const request of requests) this.#subscriptions.asked(request)
    await this.#send(call, ({ messages }) => {
      for (const message of messages) this.#subscriptions.answered(message)
    })
    for (const { id } of requests) this.#subscriptions.forget(id)
  }

  needed(): boolean {
    return this.#session !== null
  }

  interrupt(): void {
    if (this.#session === null) return
    this.#session.live = false
    this.#session.stream?.close()
  }

  async restore(target: Target): Promise<Result<void, string>> {
    const session = this.#session
    if (session === null || session.live) return ok(undefined)
    const parts = { context: this.#context, target, signal: this.#stop.signal }
    const known = !session.ended && this.#url === target.url.href
    if (known && (await isSessionAlive(parts, session))) {
      session.live = true
    } else {
      const renewed = await this.#renew(parts, session)
      if (!renewed.ok) return renewed
    }
    await this.#push.listen(target)
    this.#push.catchUp()
    return ok(undefined)
  }

  /** Ends the session at the server. */
  async end(): Promise<void> {
    this.#stop.abort()
    const session = this.#session
    this.#session = null
    session?.stream?.close()
    if (session === null || session.id === null || !session.live) return
    const { link, limits, timer } = this.#context
    const late = new AbortController()
    const cancel = timer.after(limits.farewellMs, () => late.abort())
    const answer = await link
      .ask({
        url: new URL(this.#url),
        method: 'DELETE',
        headers: sessionHeaders(session),
        repeatable: true,
        answerMs: limits.farewellMs,
        signal: late.signal,
      })
      // An unreachable server needs no DELETE.
      .catch(() => null)
    answer?.resume()
    cancel()
  }

  #begin(work: () => Promise<void>): Promise<void> {
    this.#beginning = this.#beginning.then(work)
    return this.#beginning
  }

  async #initialize({ params, id }: ClientRequest, call: Call): Promise<void> {
    // A new `initialize` discards the previous session.
    this.interrupt()
    this.#session = null
    this.#subscriptions.clear()
    this.#push.refusedAre([])
    await this.#send(call, ({ messages, headers }, target) => {
      for (const message of messages) {
        if (message.kind !== 'response' || message.id !== id || message.result === null) continue
        this.#session = openedSession(params, message.result, headers)
        this.#url = target.url.href
        const { revision } = this.#session ?? {}
        this.#context.log.info({ url: shownUrl(target.url), revision }, 'session opened')
      }
    })
  }

  async #initialized(call: Call): Promise<void> {
    if (this.#session !== null) this.#session.initialized = true
    const target = await this.#tell(call)
    if (target !== null && this.#session?.live === true) await this.#push.listen(target)
  }

  /** Sends a request, and sends it again once when the session has ended. */
  async #send(call: Call, inspect: (text: ServerText, target: Target) => void): Promise<void> {
    for (let first = true; ; first = false) {
      const ready = await this.#recovery.ready()
      if (call.signal.aborted) return
      if (!ready.ok) return call.refuse(serverGone(ready.failure))
      const target = ready.value
      const session = this.#session
      const { generation } = this.#recovery
      const end = await call.run(target, sessionHeaders(session), text => inspect(text, target))
      if (end.kind === 'refused' && end.status === 404 && session?.id != null && first) {
        this.#ended(session, generation)
        continue
      }
      if (end.kind === 'broken' && !end.begun) this.#recovery.lost(end.reason, generation)
      else if (end.kind !== 'aborted') this.#recovery.reached(target)
      return call.settle(end, target)
    }
  }

  /** Sends a message without answer. Resolves with the server that accepted it, or null. */
  async #tell(call: Call): Promise<Target | null> {
    const ready = await this.#recovery.ready()
    if (!ready.ok) return null
    const { generation } = this.#recovery
    const end = await call.run(ready.value, sessionHeaders(this.#session))
    if (end.kind === 'broken' && !end.begun) this.#recovery.lost(end.reason, generation)
    if (end.kind === 'refused') {
      this.#context.log.debug({ status: end.status }, 'the server refused a notification')
    }
    return end.kind === 'ended' ? ready.value : null
  }

  #quiet(body: Buffer): Call {
    const { signal } = this.#stop
    return new Call(this.#context, { body, requests: [], repeatable: true, signal })
  }

  #ended(session: Session, generation: number): void {
    session.ended = true
    this.#recovery.lost('the session has ended', generation)
  }

  async #renew(parts: RestoreParts, lost: Session): Promise<Result<void, string>> {
    const opened = await openSessionAgain(parts, lost)
    if (!opened.ok) return opened
    const session = opened.value
    const subscribed = await subscribeAgain(parts, session, this.#subscriptions.uris)
    if (!subscribed.ok) return subscribed
    // The client may have sent another `initialize` meanwhile.
    if (this.#session !== lost) return fail('the client began another session')
    this.#push.refusedAre(subscribed.value)
    // `notifications/initialized` may arrive during the renewal.
    session.initialized ||= lost.initialized
    this.#session = session
    this.#url = parts.target.url.href
    return ok(undefined)
  }
}
