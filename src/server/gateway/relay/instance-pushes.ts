import type { GatewayLimits } from '../../../lib/config/gateway-limits.ts'
import { Unreachable } from '../../../lib/mcp/bridge/bridge-errors.ts'
import { ByteBudget } from '../../../lib/mcp/bridge/byte-budget.ts'
import { exchange, type Exchanged } from '../../../lib/mcp/bridge/exchange.ts'
import type { HttpAsk } from '../../../lib/mcp/bridge/http-link.ts'
import { notificationMessage } from '../../../lib/mcp/bridge/rpc.ts'
import { askOnce } from '../../../lib/mcp/bridge/own-request.ts'
import { openedSession, sessionHeaders } from '../../../lib/mcp/bridge/session.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { monotonicClock, pause, retryDelay, type Timer } from '../../../lib/util/time.ts'
import { answeredError, unreachable } from './relay-errors.ts'
import { gatewayInfo, type Upstream } from './upstream.ts'

/** A session without subscriptions is ended after this time: the next wait may need it again. */
const idleMs = 2000
/** Subscriptions that are made again at the same time. */
const renewedAtOnce = 8
const tellMs = 2000
const maxAnswerBytes = 64 * 1024
/** Updates in a row after which the others of the gateway have their turn. */
const maxBurst = 200
const burstPauseMs = 50
const revision = '2025-11-25'

interface PushesParts {
  readonly upstream: Upstream
  /** An update of a URI that is followed, as the instance calls it; or the present may be another. */
  readonly updated: (inner: string) => void
  /** The listing of the instance is another. */
  readonly listChanged: () => void
  /** Why the instance will not come back; null: it may. */
  readonly gone: () => Promise<ServiceError | null>
  readonly timer: Timer
  readonly limits: Pick<GatewayLimits, 'instanceAnswerMs'>
  readonly log: Logger
}

/** One URI that clients of the gateway follow. */
interface Followed {
  /** Settles when the first subscription is accepted, or refused. */
  readonly accepted: PromiseWithResolvers<void>
  wasAccepted: boolean
}

interface OpenSession {
  readonly headers: Readonly<Record<string, string>>
  /** URIs that the instance tells of. */
  readonly held: Set<string>
  /** URIs that are being subscribed or given up. */
  readonly busy: Set<string>
  readonly end: AbortController
}

/**
 * The subscriptions at one instance: one for each URI however many clients follow it, in one session
 * that is opened with the first and ended after the last. After a loss it is opened again, and each
 * URI then counts as changed.
 */
export class InstancePushes {
  readonly #parts: PushesParts
  readonly #followed = new Map<string, Followed>()
  readonly #closing = new AbortController()
  #session: OpenSession | null = null
  #running: Promise<void> | null = null
  #cancelIdle = () => {}
  #lastId = 0

  constructor(parts: PushesParts) {
    this.#parts = parts
  }

  /** As the instance calls them. */
  get uris(): Iterable<string> {
    return this.#followed.keys()
  }

  get isFollowed(): boolean {
    return this.#followed.size > 0
  }

  /** Resolves when updates of the URI arrive; rejects with a `ServiceError`. */
  follow(inner: string): Promise<void> {
    this.#cancelIdle()
    const accepted = Promise.withResolvers<void>()
    this.#followed.set(inner, { accepted, wasAccepted: false })
    accepted.promise.catch(() => {})
    this.resume()
    const session = this.#session
    if (session !== null) void this.#settle(session, inner)
    return accepted.promise
  }

  unfollow(inner: string): void {
    const given = this.#followed.get(inner)
    this.#followed.delete(inner)
    given?.accepted.reject(new ServiceError('cancelled', 'it is not followed any more'))
    const session = this.#session
    if (session !== null) void this.#settle(session, inner)
    if (this.#followed.size > 0) return
    this.#cancelIdle = this.#parts.timer.after(idleMs, () => {
      if (this.#followed.size === 0) this.#session?.end.abort()
    })
  }

  /** Goes on after the instance was gone, for the clients that still follow it. */
  resume(): void {
    if (this.#running !== null || this.#followed.size === 0) return
    this.#running = this.#run().finally(() => {
      this.#running = null
      // A client may have come at the very end.
      if (!this.#closing.signal.aborted && this.#hasUnanswered()) this.resume()
    })
  }

  /** Does a client still wait for the first answer? */
  #hasUnanswered(): boolean {
    return [...this.#followed.values()].some(each => !each.wasAccepted)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#cancelIdle()
    this.#refuseNew(new ServiceError('cancelled', 'the gateway stops'))
    await this.#running
  }

  async #run(): Promise<void> {
    const { timer, gone, log } = this.#parts
    const { signal } = this.#closing
    for (let attempt = 0; this.#followed.size > 0 && !signal.aborted; attempt++) {
      const lost = await this.#open()
      if (signal.aborted || this.#followed.size === 0) return
      if (lost.wasOpen) attempt = 0
      const end = await gone()
      if (end !== null || !lost.wasOpen) this.#refuseNew(end ?? unreachable(lost.reason))
      if (end !== null) {
        // Who follows it reads once more, and is told that it is gone.
        for (const inner of this.#followed.keys()) this.#parts.updated(inner)
        return
      }
      log.debug({ url: this.#parts.upstream.url.href, reason: lost.reason }, 'an instance is lost')
      await pause(timer, retryDelay(attempt, Math.random), signal)
    }
  }

  /** Those who wait for the first answer are told that there is none. */
  #refuseNew(error: ServiceError): void {
    for (const inner of this.#followed.keys()) this.#refuse(inner, error)
  }

  #refuse(inner: string, error: unknown): void {
    const followed = this.#followed.get(inner)
    if (followed === undefined || followed.wasAccepted) return
    this.#followed.delete(inner)
    followed.accepted.reject(error)
  }

  /** Opens a session and follows its stream to the end. Never rejects. */
  async #open(): Promise<{ wasOpen: boolean; reason: string }> {
    const opened = { wasOpen: false, reason: 'it has ended the session' }
    const end = new AbortController()
    const signal = AbortSignal.any([end.signal, this.#closing.signal])
    try {
      const headers = await this.#initialize(signal)
      const session = { headers, held: new Set<string>(), busy: new Set<string>(), end }
      const ended = await this.#stream(session, signal, () => {
        opened.wasOpen = true
        this.#session = session
        void this.#renew(session)
      })
      if (ended.kind === 'broken') opened.reason = ended.reason
      if (ended.kind === 'refused') opened.reason = `HTTP ${ended.status}`
      if (ended.kind === 'aborted') await this.#tell({ method: 'DELETE', headers })
    } catch (error) {
      opened.reason = error instanceof Error ? error.message : String(error)
    } finally {
      this.#session = null
      end.abort()
    }
    return opened
  }

  async #initialize(signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    const params = { protocolVersion: revision, capabilities: {}, clientInfo: gatewayInfo }
    const { headers } = this.#parts.upstream
    const answer = await this.#ask('initialize', params, headers, signal)
    const session = openedSession(params, answer.result, answer.headers)
    if (session === null) throw unreachable('it opens no session')
    const own = { ...headers, ...sessionHeaders(session) }
    const body = notificationMessage('notifications/initialized')
    await this.#tell({ method: 'POST', headers: own, body })
    return own
  }

  async #stream(session: OpenSession, signal: AbortSignal, begun: () => void): Promise<Exchanged> {
    const { timer, limits } = this.#parts
    let burst = 0
    let burstSinceMs = 0
    return exchange(
      await this.#exchangeParts(null),
      {
        url: this.#parts.upstream.url,
        method: 'GET',
        headers: { ...session.headers, Accept: 'text/event-stream' },
        ...{ repeatable: true, answerMs: limits.instanceAnswerMs, isHeld: true, signal },
      },
      {
        begun,
        deliver: async ({ messages }) => {
          for (const message of messages) {
            if (message.kind === 'notification') this.#heard(message.method, message.params)
          }
          const nowMs = monotonicClock.now()
          if (nowMs - burstSinceMs > burstPauseMs) {
            burst = 0
            burstSinceMs = nowMs
          }
          if (++burst >= maxBurst) await pause(timer, burstPauseMs, signal)
          return true
        },
      },
    )
  }

  #heard(method: string, { uri }: JsonObject): void {
    if (method === 'notifications/resources/list_changed') this.#parts.listChanged()
    if (method !== 'notifications/resources/updated' || typeof uri !== 'string') return
    // Other updates are passed on to no client.
    if (this.#followed.has(uri)) this.#parts.updated(uri)
  }

  /** Subscribes again to all that is followed. */
  async #renew(session: OpenSession): Promise<void> {
    const uris = this.#followed.keys()
    const work = async () => {
      for (const inner of uris) await this.#settle(session, inner)
    }
    await Promise.all(Array.from({ length: renewedAtOnce }, work))
  }

  /** Makes the session hold the URI exactly when it is followed. Never rejects. */
  async #settle(session: OpenSession, inner: string): Promise<void> {
    const { held, busy } = session
    if (busy.has(inner)) return
    busy.add(inner)
    try {
      while (session === this.#session && held.has(inner) !== this.#followed.has(inner)) {
        if (held.has(inner)) {
          held.delete(inner)
          await this.#call(session, 'resources/unsubscribe', inner)
        } else {
          held.add(inner)
          await this.#subscribe(session, inner)
        }
      }
    } catch (error) {
      // The stream tells that the session is lost, or will not end: then the next one starts anew.
      if (!session.end.signal.aborted) this.#refuse(inner, (await this.#parts.gone()) ?? error)
      session.end.abort()
    } finally {
      busy.delete(inner)
    }
  }

  async #subscribe(session: OpenSession, inner: string): Promise<void> {
    const refused = await this.#call(session, 'resources/subscribe', inner)
    const followed = this.#followed.get(inner)
    if (followed === undefined) return
    // What changed without a stream is not known.
    if (followed.wasAccepted) return this.#parts.updated(inner)
    if (refused === null) {
      followed.wasAccepted = true
      return followed.accepted.resolve()
    }
    session.held.delete(inner)
    this.#refuse(inner, refused)
  }

  /** Null, or why the instance refuses. Rejects when the session is lost. */
  async #call(session: OpenSession, method: string, uri: string): Promise<ServiceError | null> {
    try {
      await this.#ask(method, { uri }, session.headers, session.end.signal)
      return null
    } catch (error) {
      if (error instanceof ServiceError && error.data?.['reason'] !== 'instance_unreachable') {
        return error
      }
      throw error
    }
  }

  async #ask(
    method: string,
    params: JsonObject,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ) {
    const id = ++this.#lastId
    const { upstream, limits } = this.#parts
    const { url } = upstream
    const answerMs = limits.instanceAnswerMs
    const parts = await this.#exchangeParts(answerMs)
    const asked = { url, headers, id, method, params, answerMs, isHeld: true, signal }
    const answer = await askOnce(parts, asked)
    switch (answer.kind) {
      case 'result':
        return answer
      case 'error':
        throw answeredError(answer.error, String(params.uri ?? url.href))
      case 'broken':
        throw unreachable(answer.reason)
      case 'refused':
        throw unreachable(`it answers with HTTP ${answer.status}`)
      default:
        throw unreachable('it gives no answer')
    }
  }

  /** What needs no answer. */
  async #tell(message: Pick<HttpAsk, 'method' | 'headers' | 'body'>): Promise<void> {
    const { upstream } = this.#parts
    const signal = AbortSignal.timeout(tellMs)
    try {
      const link = await upstream.link()
      const asked = { url: upstream.url, repeatable: false, answerMs: tellMs, isHeld: true }
      const answer = await link.ask({ ...asked, ...message, signal })
      answer.resume()
    } catch (error) {
      if (!(error instanceof Unreachable) && !signal.aborted) throw error
    }
  }

  async #exchangeParts(silenceMs: number | null) {
    const { upstream, timer, log } = this.#parts
    return {
      link: await upstream.link(),
      limits: { maxAnswerBytes },
      budget: new ByteBudget(4 * maxAnswerBytes),
      ...{ timer, log, silenceMs },
    }
  }
}
