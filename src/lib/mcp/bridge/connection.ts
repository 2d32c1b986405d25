import { setTimeout as delay } from 'node:timers/promises'
import type { JsonObject } from '../../util/json.ts'
import type { Logger } from '../../util/logger.ts'
import type { Secret } from '../../util/secret.ts'
import { pause, retryDelay, systemTimer } from '../../util/time.ts'
import type { RpcError } from '../json-rpc.ts'
import { refusalError, Unreachable } from './bridge-errors.ts'
import { type Locate, shownUrl } from './context.ts'
import {
  askOnce,
  exchange,
  type Exchanged,
  type ExchangeHooks,
  type Refused,
  type RpcAnswer,
} from './exchange.ts'
import { type HttpAsk, HttpLink } from './http-link.ts'

/** The server from the moment it was located until it is lost. */
export interface Upstream {
  readonly url: URL
  /** Aborted when the server is lost. */
  readonly lost: AbortController
}

/** The stream of a session or a subscription, which the loss of a server takes away. */
interface KeptStream {
  /** Makes it usable at this server, before requests go there. Rejects with `Unreachable`. */
  restore?(upstream: Upstream): Promise<void>
  /**
   * Runs to the end of the stream. Resolves with the pause in ms before it must be opened again;
   * null when it must not.
   */
  run(upstream: Upstream, begun: () => void): Promise<number | null>
  /** Sends what the client may have missed. Called when the stream was opened again. */
  catchUp?(): Promise<void>
}

/** Where a stream is open. */
interface Place {
  /** Null when it must be opened again. */
  upstream: Upstream | null
  readonly opened: Promise<void>
}

/** How to find the server, and what is sent there. */
export interface ConnectionParts {
  /** Finds the endpoint. */
  readonly locate: Locate
  /** Sent as Bearer to that endpoint. */
  readonly key: Secret | null
  /** Holds the proxy variables. */
  readonly env: NodeJS.ProcessEnv
  readonly log: Logger
}

interface ConnectionAsk extends Omit<HttpAsk, 'url' | 'answerMs'> {
  /** May be idle, and ends when the server is lost. */
  readonly isStream?: boolean
}

/** The official SDKs drop a server that sends a line over 10 MiB. */
export const maxAnswerBytes = 9 * 1024 * 1024
/** Some servers begin a stream only with the first notification: it then counts as open. */
const streamOpenMs = 1000
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
  readonly #parts: ConnectionParts
  readonly #link: HttpLink
  readonly #streams = new Map<KeptStream, Place>()
  readonly #stop = new AbortController()
  #current: Upstream | null = null
  #attempt: Promise<Upstream> | null = null
  #isReconnecting = false
  #failures = 0
  #restoredMs = 0
  /** A loss was logged, and no answer since. */
  #isAway = false

  constructor(parts: ConnectionParts) {
    this.#parts = parts
    this.#link = new HttpLink(parts)
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
    { isStream = false, signal, ...asked }: ConnectionAsk,
    hooks: ExchangeHooks = {},
  ): Promise<Exchanged> {
    const ends = [signal, this.#stop.signal]
    if (isStream) ends.push(upstream.lost.signal)
    const parts = { ...this.#exchangeParts, silenceMs: isStream ? null : answerMs }
    const ask = { ...asked, url: upstream.url, answerMs, signal: AbortSignal.any(ends) }
    const begun = (): void => {
      this.#reached(upstream)
      hooks.begun?.()
    }
    const ended = await exchange(parts, ask, { ...hooks, begun })
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
    const { url, lost } = upstream
    const asked = { url, headers, answerMs: restoreMs, signal: lost.signal }
    const question = { ...asked, id: ownId, method, params }
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
  refusal(refused: Refused, { url }: Upstream): RpcError {
    return refusalError(refused, url, this.#parts.key !== null)
  }

  /** Opens a stream, from now on again after each end. Resolves when this was tried. */
  open(stream: KeptStream, upstream: Upstream): Promise<void> {
    const last = this.#streams.get(stream)
    if (last?.upstream === upstream) return last.opened
    const opened = this.#open(stream, upstream, last !== undefined)
    this.#streams.set(stream, { upstream, opened })
    return opened
  }

  /** The stream has ended for good. */
  forget(stream: KeptStream): void {
    this.#streams.delete(stream)
  }

  /** The server is gone, or forgot the session. */
  lost(upstream: Upstream, reason: string): void {
    if (upstream.lost.signal.aborted || this.#stop.signal.aborted) return
    upstream.lost.abort()
    if (this.#current === upstream) this.#current = null
    if (!this.#isAway) {
      const facts = { url: shownUrl(upstream.url), reason }
      this.#parts.log.warn(facts, 'no connection to the server')
    }
    this.#isAway = true
    this.#reconnect(0)
  }

  /** Ends all requests. */
  stop(): void {
    this.#stop.abort()
    this.#link.close()
  }

  get #exchangeParts() {
    return { link: this.#link, log: this.#parts.log, maxAnswerBytes }
  }

  async #open(stream: KeptStream, upstream: Upstream, isAgain: boolean): Promise<void> {
    const begun = Promise.withResolvers<void>()
    const ended = stream.run(upstream, begun.resolve).then(retryMs => {
      const place = this.#streams.get(stream)
      // Another server may have the stream by now.
      if (retryMs === null || place?.upstream !== upstream) return
      place.upstream = null
      this.#reconnect(retryMs)
    })
    await Promise.race([begun.promise, ended, delay(streamOpenMs, null, { ref: false })])
    const isOpen = this.#streams.get(stream)?.upstream === upstream
    if (isOpen && isAgain) void stream.catchUp?.()
  }

  /** Finds the server and opens streams until all are open; waits at least `minMs` before. */
  #reconnect(minMs: number): void {
    if (this.#isReconnecting || this.#stop.signal.aborted) return
    this.#isReconnecting = true
    void this.#openAll(minMs).finally(() => (this.#isReconnecting = false))
  }

  async #openAll(minMs: number): Promise<void> {
    const { signal } = this.#stop
    if (performance.now() - this.#restoredMs > stableMs) this.#failures = 0
    const isMissing = ({ upstream }: Place) => upstream === null || upstream !== this.#current
    while (this.#streams.values().some(isMissing)) {
      const delayMs = Math.max(minMs, retryDelay(this.#failures++, Math.random))
      await pause(systemTimer, delayMs, signal)
      if (signal.aborted) return
      const upstream = await this.ready().catch(() => null)
      if (upstream === null) continue
      await Promise.all(this.#streams.keys().map(stream => this.open(stream, upstream)))
    }
    this.#restoredMs = performance.now()
  }

  async #connect(): Promise<Upstream> {
    const place = await this.#parts.locate()
    if (!place.ok) throw new Unreachable(place.failure)
    const upstream = { url: place.value.url, lost: new AbortController() }
    for (const stream of this.#streams.keys()) await stream.restore?.(upstream)
    if (upstream.lost.signal.aborted) throw new Unreachable('the connection was cut')
    this.#current = upstream
    for (const stream of this.#streams.keys()) void this.open(stream, upstream)
    return upstream
  }

  #reached({ url }: Upstream): void {
    if (!this.#isAway) return
    this.#isAway = false
    this.#parts.log.info({ url: shownUrl(url) }, 'the server answers')
  }
}
