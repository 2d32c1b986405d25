import { maxUrisPerClient } from '../../mcp/subscriptions.ts'
import type { GatewayLimits } from '../limits.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { pause, retryDelay, type Timer } from '../../../lib/util/time.ts'
import { UpstreamSession } from './upstream-session.ts'
import type { Upstream } from './upstream.ts'

/** A session without subscriptions is ended after this time: another may follow soon. */
const idleMs = 2000
/** URIs of one session: half of its bound, since those that are being given up still count. */
const maxUris = maxUrisPerClient / 2
/** Subscriptions of a session that are made or ended at the same time. */
const settledAtOnce = 8

interface PushesParts {
  readonly upstream: Upstream
  /** A URI that is followed changed, or may have; as the instance calls it. */
  readonly updated: (inner: string) => void
  /** The instance lists other resources. */
  readonly listChanged: () => void
  /** Why the instance will not come back; null: it may. */
  readonly gone: () => Promise<ServiceError | null>
  readonly timer: Timer
  readonly limits: Pick<GatewayLimits, 'instanceAnswerMs'>
  readonly log: Logger
}

/** One URI that clients of the gateway follow. */
interface Followed {
  /** Settles with the first answer of the instance, or when it cannot be reached now. */
  readonly accepted: PromiseWithResolvers<void>
  wasAccepted: boolean
  /** Since it was accepted, in a row. */
  refusals: number
}

/** A session, and the URIs of it. */
interface Open {
  readonly session: UpstreamSession
  /** URIs that the instance tells of. */
  readonly held: Set<string>
  /** URIs that are being subscribed or given up. */
  readonly busy: Set<string>
  /** URIs that are next. */
  readonly waiting: Set<string>
  /** At work on them. */
  workers: number
}

/**
 * The subscriptions at one instance: one for each URI however many clients follow it. An instance
 * bounds those of one session: a client that follows many URIs must leave room for the others.
 */
export class InstancePushes {
  readonly #parts: PushesParts
  readonly #sessions: SessionPushes[] = []

  constructor(parts: PushesParts) {
    this.#parts = parts
  }

  get isFollowed(): boolean {
    return this.#sessions.some(({ size }) => size > 0)
  }

  /**
   * Resolves when updates of the URI arrive; rejects with a `ServiceError`. Of an instance that cannot
   * be reached now they arrive later: the first when it can.
   */
  follow(inner: string): Promise<void> {
    let session = this.#sessions.find(({ size }) => size < maxUris)
    if (session === undefined) this.#sessions.push((session = new SessionPushes(this.#parts)))
    return session.follow(inner)
  }

  unfollow(inner: string): void {
    this.#sessions.find(session => session.has(inner))?.unfollow(inner)
  }

  /** Goes on after the instance was gone, for the clients that still follow it. */
  resume(): void {
    for (const session of this.#sessions) session.resume()
  }

  /** Goes on at once after a loss: the instance can be reached again. */
  retry(): void {
    for (const session of this.#sessions) session.retry()
  }

  async close(): Promise<void> {
    await Promise.all(this.#sessions.map(session => session.close()))
  }
}

/**
 * The subscriptions of one session, which is opened with the first and ended after the last. After a
 * loss it is opened again, and each URI then counts as changed.
 */
class SessionPushes {
  readonly #parts: PushesParts
  readonly #followed = new Map<string, Followed>()
  readonly #closing = new AbortController()
  /** Aborted to end the pause before the next session, also before it begins. */
  #waiting = new AbortController()
  #open: Open | null = null
  #running: Promise<void> | null = null
  #cancelIdle = () => {}

  constructor(parts: PushesParts) {
    this.#parts = parts
  }

  get size(): number {
    return this.#followed.size
  }

  has(inner: string): boolean {
    return this.#followed.has(inner)
  }

  follow(inner: string): Promise<void> {
    this.#cancelIdle()
    const accepted = Promise.withResolvers<void>()
    this.#followed.set(inner, { accepted, wasAccepted: false, refusals: 0 })
    accepted.promise.catch(() => {})
    if (this.#open === null) this.retry()
    else this.#settleSoon(this.#open, inner)
    this.resume()
    return accepted.promise
  }

  unfollow(inner: string): void {
    const removed = this.#followed.get(inner)
    this.#followed.delete(inner)
    removed?.accepted.reject(new ServiceError('cancelled', 'it is not followed any more'))
    if (this.#open !== null) this.#settleSoon(this.#open, inner)
    if (this.size > 0) return
    this.#cancelIdle = this.#parts.timer.after(idleMs, () => {
      if (this.size === 0) this.#open?.session.end()
    })
  }

  resume(): void {
    if (this.#running !== null || this.size === 0) return
    this.#running = this.#run().finally(() => {
      this.#running = null
      // A client may have come at the very end.
      if (!this.#closing.signal.aborted && this.#isAwaited()) this.resume()
    })
  }

  retry(): void {
    this.#waiting.abort()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#cancelIdle()
    this.#answerAll(new ServiceError('cancelled', 'the gateway stops'))
    await this.#running
  }

  #isAwaited(): boolean {
    return [...this.#followed.values()].some(each => !each.wasAccepted)
  }

  async #run(): Promise<void> {
    const { timer, gone, log } = this.#parts
    const { signal } = this.#closing
    for (let attempt = 0; this.size > 0 && !signal.aborted; attempt++) {
      // Before the attempt: the instance may come back while that fails.
      this.#waiting = new AbortController()
      const lost = await this.#runSession()
      if (signal.aborted || this.size === 0) return
      // A session whose subscriptions are refused is no reason to hurry.
      if (lost.wasRenewed) attempt = 0
      const end = await gone()
      if (end !== null || !lost.wasOpen) this.#answerAll(end ?? lost.refusal)
      if (end !== null) {
        // Clients are notified, read the error, and learn that the instance is gone.
        for (const inner of this.#followed.keys()) this.#parts.updated(inner)
        return
      }
      log.debug({ reason: lost.reason.message }, 'an instance is lost')
      const waiting = AbortSignal.any([signal, this.#waiting.signal])
      await pause(timer, retryDelay(attempt, Math.random), waiting)
    }
  }

  /** Opens a session and follows its stream to the end. Never rejects. */
  async #runSession() {
    const { upstream, limits, timer } = this.#parts
    const session = new UpstreamSession({
      upstream,
      timer,
      answerMs: limits.instanceAnswerMs,
      notified: (method, params) => this.#notified(method, params),
      signal: this.#closing.signal,
    })
    const state = { wasOpen: false, wasRenewed: false }
    const reason = await session.run(() => {
      state.wasOpen = true
      const sets = { held: new Set<string>(), busy: new Set<string>(), waiting: new Set<string>() }
      this.#open = { session, ...sets, workers: 0 }
      void this.#renew(this.#open).then(() => (state.wasRenewed = !session.isEnded))
    })
    this.#open = null
    return { ...state, reason, refusal: session.isRefused ? reason : null }
  }

  #notified(method: string, { uri }: JsonObject): void {
    if (method === 'notifications/resources/list_changed') this.#parts.listChanged()
    if (method !== 'notifications/resources/updated' || typeof uri !== 'string') return
    // Other updates are passed on to no client.
    if (this.#followed.has(uri)) this.#parts.updated(uri)
  }

  /** Subscribes again to all that is followed. */
  async #renew(open: Open): Promise<void> {
    for (const inner of this.#followed.keys()) open.waiting.add(inner)
    await Promise.all(Array.from({ length: settledAtOnce }, () => this.#work(open)))
  }

  /** Not all at once: each request of many would open a connection. */
  #settleSoon(open: Open, inner: string): void {
    open.waiting.add(inner)
    if (open.workers < settledAtOnce) void this.#work(open)
  }

  async #work(open: Open): Promise<void> {
    open.workers++
    for (const inner of open.waiting) {
      open.waiting.delete(inner)
      await this.#settle(open, inner)
    }
    open.workers--
  }

  /** Makes the session hold the URI exactly when it is followed. Never rejects. */
  async #settle(open: Open, inner: string): Promise<void> {
    const { session, held, busy } = open
    if (busy.has(inner)) return
    busy.add(inner)
    try {
      let isDone = false
      while (open === this.#open && !isDone && held.has(inner) !== this.#followed.has(inner)) {
        if (held.delete(inner)) await session.call('resources/unsubscribe', inner)
        else isDone = !(await this.#subscribe(open, inner))
      }
    } catch {
      // The stream tells that the session is lost, or will not end: then the next one starts anew.
      if (!session.isEnded) this.#answer(inner, await this.#parts.gone())
      session.end()
    } finally {
      busy.delete(inner)
    }
  }

  /** False: the instance refuses it for now. */
  async #subscribe(open: Open, inner: string): Promise<boolean> {
    const { session, held } = open
    held.add(inner)
    const refusal = await session.call('resources/subscribe', inner)
    const followed = this.#followed.get(inner)
    if (followed === undefined) return true
    if (refusal === null) {
      // What changed without a subscription is not known.
      if (followed.wasAccepted) this.#parts.updated(inner)
      followed.refusals = 0
      this.#answer(inner, null)
      return true
    }
    held.delete(inner)
    if (!followed.wasAccepted) {
      this.#answer(inner, refusal)
      return true
    }
    if (followed.refusals === 0) this.#parts.updated(inner)
    const delayMs = retryDelay(followed.refusals++, Math.random)
    this.#parts.timer.after(delayMs, () => this.#settleSoon(open, inner))
    return false
  }

  #answerAll(refusal: ServiceError | null): void {
    for (const inner of this.#followed.keys()) this.#answer(inner, refusal)
  }

  /** Answers the clients that wait, unless they have their answer. */
  #answer(inner: string, refusal: ServiceError | null): void {
    const followed = this.#followed.get(inner)
    if (followed === undefined || followed.wasAccepted) return
    if (refusal === null) {
      followed.wasAccepted = true
      followed.accepted.resolve()
    } else {
      this.#followed.delete(inner)
      followed.accepted.reject(refusal)
    }
  }
}
