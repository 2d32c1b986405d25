import type { JsonObject } from '../../util/json.ts'
import type { Logger } from '../../util/logger.ts'
import type { Secret } from '../../util/secret.ts'
import { pause, retryDelay, systemTimer } from '../../util/time.ts'
import type { RpcError } from '../json-rpc.ts'
import { refusalError, Unreachable } from './bridge-errors.ts'
import { type Locate, shownUrl, type Target } from './context.ts'
import {
  askOnce,
  exchange,
  type Exchanged,
  type ExchangeHooks,
  type ExchangeParts,
  type Refused,
  type RpcAnswer,
} from './exchange.ts'
import { type HttpAsk, HttpLink } from './http-link.ts'

/** The server from the moment it was located until it is lost. */
export interface Upstream {
  readonly target: Target
  /** Aborted with an `Unreachable` when the server is lost. */
  readonly lost: AbortController
}

/** A session or a subscription, which the loss of a server takes away. */
interface Restorable {
  /** Makes it usable at this server, before requests go there. Rejects with `Unreachable`. */
  restore?(upstream: Upstream): Promise<void>
  /** Opens its stream unless it is open. Resolves with false when it must be tried again. */
  openStream(upstream: Upstream): Promise<boolean>
}

interface ConnectionParts {
  readonly locate: Locate
  readonly key: Secret | null
  readonly env: NodeJS.ProcessEnv
  readonly log: Logger
}

interface ConnectionAsk extends Pick<HttpAsk, 'method' | 'headers' | 'body' | 'signal'> {
  /** May not be sent twice, and may take its time. */
  readonly hasEffects?: boolean
  /** May be idle, and ends when the server is lost. */
  readonly isStream?: boolean
}

/** The official SDKs drop a server that sends a line over 10 MiB. */
export const maxAnswerBytes = 9 * 1024 * 1024
/** Some servers begin a stream only with the first notification: it then counts as open. */
export const streamOpenMs = 1000
/** A request fails after this time without data. */
const answerMs = 5 * 60_000
/** For one step of restoring a session. */
const restoreMs = 10_000
/** A server that stays this long resets the backoff. */
const stableMs = 5000
/** The client never sees it: the bridge consumes the answer. */
const ownId = 'service-cli'

/** HTTP to one server at a time. Finds it again after a loss, and restores what that took away. */
export class Connection {
  /** Restored after a loss. */
  readonly restorables = new Set<Restorable>()
  readonly #parts: ConnectionParts
  readonly #link: HttpLink
  readonly #exchangeParts: Omit<ExchangeParts, 'silenceMs'>
  readonly #stop = new AbortController()
  #current: Upstream | null = null
  #attempt: Promise<Upstream> | null = null
  #isReconnecting = false
  #failures = 0
  #restoredMs = 0
  /** A loss was logged, and no answer since. */
  #isAway = false
  /** Ends the pause between two attempts. */
  #wake = new AbortController()

  constructor(parts: ConnectionParts) {
    const { key, env, log } = parts
    this.#parts = parts
    const overdue = (url: URL): void => {
      const fields = { url: shownUrl(url), pid: this.#current?.target.pid }
      log.warn(fields, 'the server has not answered for 5 seconds')
    }
    this.#link = new HttpLink({ key, env, overdue })
    this.#exchangeParts = { link: this.#link, log, maxAnswerBytes }
  }

  /**
   * Returns the server for a request. While it is away, tries to find it at once; rejects with
   * `Unreachable`.
   */
  ready(): Promise<Upstream> {
    if (this.#current !== null) return Promise.resolve(this.#current)
    this.#attempt ??= this.#connect().finally(() => (this.#attempt = null))
    return this.#attempt
  }

  /** Sends one HTTP request. Never rejects. */
  async exchange(
    upstream: Upstream,
    { hasEffects = false, isStream = false, signal, ...asked }: ConnectionAsk,
    hooks: ExchangeHooks = {},
  ): Promise<Exchanged> {
    const ends = [signal, this.#stop.signal]
    if (isStream) ends.push(upstream.lost.signal)
    const ask = {
      ...asked,
      url: upstream.target.url,
      repeatable: !hasEffects,
      answerMs,
      signal: AbortSignal.any(ends),
    }
    const begun = (): void => {
      this.#reached(upstream)
      hooks.begun?.()
    }
    const silenceMs = isStream ? null : answerMs
    const ended = await exchange({ ...this.#exchangeParts, silenceMs }, ask, { ...hooks, begun })
    if (ended.kind === 'broken' && !ended.begun) this.lost(upstream, ended.reason)
    return ended
  }

  /** Sends a request of the bridge itself. Rejects with `Unreachable` when it is not answered. */
  async ask(
    upstream: Upstream,
    headers: Record<string, string>,
    method: string,
    params: JsonObject,
  ): Promise<RpcAnswer> {
    const { url } = upstream.target
    const { signal } = upstream.lost
    const question = { url, headers, id: ownId, method, params, answerMs: restoreMs, signal }
    const answer = await askOnce(this.#exchangeParts, question)
    if (answer.kind === 'result' || answer.kind === 'error') {
      this.#reached(upstream)
      return answer
    }
    if (answer.kind === 'refused') throw new Unreachable(this.refusal(answer, upstream).message)
    const reason = answer.kind === 'broken' ? answer.reason : 'it sent no valid answer'
    this.lost(upstream, reason)
    throw new Unreachable(reason)
  }

  /** The error for a request that the server refused. */
  refusal(refused: Refused, { target }: Upstream): RpcError {
    return refusalError(refused, target.url, this.#parts.key !== null)
  }

  /** The server is gone, or forgot the session. */
  lost(upstream: Upstream, reason: string): void {
    const { lost } = upstream
    if (lost.signal.aborted || this.#stop.signal.aborted) return
    lost.abort(new Unreachable(reason))
    if (this.#current === upstream) this.#current = null
    const isEmpty = this.restorables.size === 0
    if (!this.#isAway) {
      const words = isEmpty ? 'the server cannot be reached' : 'the server is lost'
      this.#parts.log.warn({ url: shownUrl(upstream.target.url), reason }, words)
    }
    this.#isAway = true
    if (!isEmpty) this.reconnect()
  }

  /** Finds the server and opens streams until all are open; waits at least `minMs` before. */
  reconnect(minMs = 0): void {
    if (this.#isReconnecting || this.#stop.signal.aborted) return
    this.#isReconnecting = true
    void this.#reconnect(minMs).finally(() => (this.#isReconnecting = false))
  }

  /** Ends all requests. */
  stop(): void {
    this.#stop.abort()
    this.#link.close()
  }

  async #reconnect(minMs: number): Promise<void> {
    const { signal } = this.#stop
    if (performance.now() - this.#restoredMs > stableMs) this.#failures = 0
    for (let isRestored = false; !isRestored;) {
      this.#wake = new AbortController()
      const delayMs = Math.max(minMs, retryDelay(this.#failures++, Math.random))
      await pause(systemTimer, delayMs, AbortSignal.any([signal, this.#wake.signal]))
      if (signal.aborted) return
      const upstream = await this.ready().catch(() => null)
      if (upstream === null) continue
      const streams = [...this.restorables].map(one => one.openStream(upstream))
      const isOpen = (await Promise.all(streams)).every(Boolean)
      isRestored = isOpen && !upstream.lost.signal.aborted
    }
    this.#restoredMs = performance.now()
  }

  async #connect(): Promise<Upstream> {
    const place = await this.#parts.locate()
    if (!place.ok) throw new Unreachable(place.failure)
    const upstream = { target: place.value, lost: new AbortController() }
    for (const one of this.restorables) await one.restore?.(upstream)
    upstream.lost.signal.throwIfAborted()
    this.#current = upstream
    this.#wake.abort()
    return upstream
  }

  #reached({ target: { url, name } }: Upstream): void {
    if (!this.#isAway) return
    this.#isAway = false
    this.#parts.log.info({ url: shownUrl(url), name }, 'the server answers')
  }
}
