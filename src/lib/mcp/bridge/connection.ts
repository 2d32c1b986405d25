import type { JsonObject } from '../../util/json.ts'
import type { Logger } from '../../util/logger.ts'
import type { Secret } from '../../util/secret.ts'
import { pause, retryDelay, systemTimer } from '../../util/time.ts'
import type { RpcError } from '../json-rpc.ts'
import { exchangeError, Unreachable } from './bridge-errors.ts'
import { type Locate, shownUrl } from './context.ts'
import {
  askOnce,
  exchange,
  type ExchangeAsk,
  type Exchanged,
  type ExchangeHooks,
} from './exchange.ts'
import { HttpLink } from './http-link.ts'
import { messageText } from './rpc.ts'

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
   * Runs to the end of the stream. Resolves with whether it must be opened again. Sends what the
   * client may have missed before.
   */
  run(upstream: Upstream): Promise<boolean>
}

/** How to find the server, and what is sent there. */
export interface ConnectionParts {
  readonly locate: Locate
  /** Sent as Bearer to that endpoint. */
  readonly key: Secret | null
  /** Holds the proxy variables. */
  readonly env: NodeJS.ProcessEnv
  readonly log: Logger
}

/** A stream ends when the server is lost. */
type ConnectionAsk = Omit<ExchangeAsk, 'url' | 'answerMs' | 'maxAnswerBytes'>

/** The official SDKs drop a server that sends a line over 10 MiB. */
const maxAnswerBytes = 9 * 1024 * 1024
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
  /** Where each stream is open; null when it must be opened again. */
  readonly #streams = new Map<KeptStream, Upstream | null>()
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
    asked: ConnectionAsk,
    hooks: ExchangeHooks = {},
  ): Promise<Exchanged> {
    const ends = [asked.signal, this.#stop.signal]
    if (asked.isStream) ends.push(upstream.lost.signal)
    const signal = AbortSignal.any(ends)
    const ask = { ...asked, url: upstream.url, answerMs, maxAnswerBytes, signal }
    const begun = (): void => {
      this.#reached(upstream)
      hooks.begun?.()
    }
    const ended = await exchange(this.#link, ask, { ...hooks, begun })
    if (ended.kind === 'broken' && !ended.begun) this.lost(upstream, ended.reason)
    return ended
  }

  /** Sends a request of the bridge itself. Rejects with `Unreachable` when it has no result. */
  async ask(
    upstream: Upstream,
    headers: Record<string, string>,
    method: string,
    params: JsonObject,
  ) {
    const answer = await askOnce(this.#link, {
      url: upstream.url,
      method: 'POST',
      headers,
      body: messageText({ id: ownId, method, params }),
      answerMs: restoreMs,
      maxAnswerBytes,
      signal: this.#stop.signal,
    })
    if (answer.kind === 'broken') throw new Unreachable(answer.reason)
    if (answer.kind !== 'response') throw new Unreachable(this.errorOf(answer, upstream).message)
    if (answer.error === null) return answer
    throw new Unreachable(`it refuses ${method}: ${answer.error.message}`)
  }

  /** The error of a request whose exchange ended so, without its answer. */
  errorOf(ended: Exchanged, { url }: Upstream): RpcError {
    return exchangeError(ended, { url, isKeyed: this.#parts.key !== null, maxAnswerBytes })
  }

  /** Opens a stream, from now on again after each end. */
  open(stream: KeptStream, upstream: Upstream): void {
    if (this.#streams.get(stream) === upstream) return
    this.#streams.set(stream, upstream)
    void stream.run(upstream).then(mustReopen => {
      // Another server may have the stream by now.
      if (!mustReopen || this.#streams.get(stream) !== upstream) return
      this.#streams.set(stream, null)
      void this.#reconnect()
    })
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
    void this.#reconnect()
  }

  /** Ends all requests. */
  stop(): void {
    this.#stop.abort()
    this.#link.close()
  }

  /** Finds the server and opens the streams again. */
  async #reconnect(): Promise<void> {
    const { signal } = this.#stop
    if (this.#isReconnecting || signal.aborted) return
    this.#isReconnecting = true
    if (performance.now() - this.#restoredMs > stableMs) this.#failures = 0
    const isMissing = (at: Upstream | null) => at === null || at !== this.#current
    while (this.#streams.values().some(isMissing)) {
      await pause(systemTimer, retryDelay(this.#failures++, Math.random), signal)
      if (signal.aborted) return
      const upstream = await this.ready().catch(() => null)
      if (upstream !== null) this.#openAll(upstream)
    }
    this.#restoredMs = performance.now()
    this.#isReconnecting = false
  }

  async #connect(): Promise<Upstream> {
    const place = await this.#parts.locate()
    if (!place.ok) throw new Unreachable(place.failure)
    const upstream = { url: place.value.url, lost: new AbortController() }
    for (const stream of this.#streams.keys()) await stream.restore?.(upstream)
    if (upstream.lost.signal.aborted) throw new Unreachable('the connection was cut')
    this.#current = upstream
    this.#openAll(upstream)
    return upstream
  }

  #openAll(upstream: Upstream): void {
    for (const stream of this.#streams.keys()) this.open(stream, upstream)
  }

  #reached({ url }: Upstream): void {
    if (!this.#isAway) return
    this.#isAway = false
    this.#parts.log.info({ url: shownUrl(url) }, 'the server answers')
  }
}
