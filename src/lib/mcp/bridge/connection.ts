import type { JsonObject } from '../../util/json.ts'
import type { Logger } from '../../util/logger.ts'
import { pause, retryDelay, systemTimer } from '../../util/time.ts'
import type { RpcError } from '../json-rpc.ts'
import { refusalError, Unreachable } from './bridge-errors.ts'
import { type Locate, shownUrl, type Target } from './context.ts'
import { exchange, type Exchanged, type Refused } from './exchange.ts'
import type { HttpAsk, HttpLink } from './http-link.ts'
import { askOnce, type RpcAnswer } from './own-request.ts'

/** The server from the moment it was located until it is lost. */
export class Upstream {
  readonly target: Target
  readonly #lost = new AbortController()

  constructor(target: Target) {
    this.target = target
  }

  /** Aborted with an `Unreachable` when the server is lost. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  lose(reason: string): void {
    this.#lost.abort(new Unreachable(reason))
  }
}

/** What the loss of a server takes away: a session and streams. */
export interface ConnectionState {
  isEmpty(): boolean
  /** Makes the session usable at this server. Rejects with `Unreachable`. Idempotent. */
  restore(upstream: Upstream): Promise<void>
  /** Opens the streams that are not open. Resolves with false when one must be tried again. */
  openStreams(upstream: Upstream): Promise<boolean>
}

interface ConnectionParts {
  readonly link: HttpLink
  readonly locate: Locate
  readonly log: Logger
}

type Asked = Omit<HttpAsk, 'url' | 'answerMs'> & { readonly answerMs?: number }

/** A request fails after this time without data. */
const answerMs = 5 * 60_000
/** For one step of restoring a session. */
const restoreMs = 10_000
/** The official SDKs drop a server that sends a line over 10 MiB. */
export const maxAnswerBytes = 9 * 1024 * 1024
/** A server that stays this long resets the backoff. */
const stableMs = 5000
/** The client never sees it: the bridge consumes the answer. */
const ownId = 'service-cli'

/** HTTP to one server at a time. Finds it again after a loss, and then restores what it took. */
export class Connection {
  readonly #parts: ConnectionParts
  readonly #state: ConnectionState
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

  constructor(parts: ConnectionParts, state: ConnectionState) {
    this.#parts = parts
    this.#state = state
  }

  /** Aborted when the bridge ends. */
  get stopped(): AbortSignal {
    return this.#stop.signal
  }

  /**
   * Returns the server for a request. While it is away, tries to reach it at once; rejects with
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
    asked: Asked & { isIdle?: boolean },
    hooks: Parameters<typeof exchange>[2],
  ): Promise<Exchanged> {
    const { link, log } = this.#parts
    const { isIdle = false, ...ask } = asked
    const ended = await exchange(
      { link, log, maxAnswerBytes, silenceMs: isIdle ? null : answerMs },
      { answerMs, ...ask, url: upstream.target.url },
      hooks,
    )
    if (ended.kind === 'broken' && !ended.begun) this.lost(upstream, ended.reason)
    else if (ended.kind !== 'aborted' && !isFailure(ended)) this.#reached(upstream)
    return ended
  }

  /** Sends a request of the bridge itself. Rejects with `Unreachable` when no answer comes. */
  async ask(
    upstream: Upstream,
    headers: Record<string, string>,
    method: string,
    params: JsonObject,
  ): Promise<RpcAnswer | Refused> {
    const { link, log } = this.#parts
    const { url } = upstream.target
    const signal = AbortSignal.any([this.stopped, upstream.lost])
    const question = { url, headers, id: ownId, method, params, answerMs: restoreMs, signal }
    const answer = await askOnce({ link, log, maxAnswerBytes }, question)
    switch (answer.kind) {
      case 'result':
      case 'error':
      case 'refused':
        if (!isFailure(answer)) this.#reached(upstream)
        return answer
      case 'broken':
        this.lost(upstream, answer.reason)
        throw new Unreachable(answer.reason)
      default:
        throw new Unreachable('it sent no valid answer')
    }
  }

  /** Ends the session at the server; waits at most `waitMs`. */
  async delete(upstream: Upstream, headers: Record<string, string>, waitMs: number): Promise<void> {
    const { url } = upstream.target
    const signal = AbortSignal.timeout(waitMs)
    const ask = { url, method: 'DELETE', headers, repeatable: true, answerMs: waitMs } as const
    // An unreachable server needs no DELETE.
    const answer = await this.#parts.link.ask({ ...ask, signal }).catch(() => null)
    answer?.resume()
  }

  /** The error for a request that the server refused. */
  refusal(refused: Refused, { target }: Upstream): RpcError {
    return refusalError(refused, target, this.#parts.link.key !== null)
  }

  /** The server is gone, or forgot the session. */
  lost(upstream: Upstream, reason: string): void {
    if (upstream.lost.aborted || this.#stop.signal.aborted) return
    upstream.lose(reason)
    if (this.#current === upstream) this.#current = null
    const isEmpty = this.#state.isEmpty()
    if (!this.#isAway) {
      const fields = { url: shownUrl(upstream.target.url), reason }
      const words = isEmpty ? 'the server cannot be reached' : 'the server is lost'
      this.#parts.log.warn(fields, words)
    }
    this.#isAway = true
    if (!isEmpty) this.reconnect()
  }

  /** Reconnects and opens streams until all are open; waits at least `minMs` before. */
  reconnect(minMs = 0): void {
    if (this.#isReconnecting || this.#stop.signal.aborted) return
    this.#isReconnecting = true
    void this.#reconnect(minMs).finally(() => (this.#isReconnecting = false))
  }

  stop(): void {
    this.#stop.abort()
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
      isRestored = (await this.#state.openStreams(upstream)) && !upstream.lost.aborted
    }
    this.#restoredMs = performance.now()
  }

  async #connect(): Promise<Upstream> {
    const place = await this.#parts.locate()
    if (!place.ok) throw new Unreachable(place.failure)
    const upstream = new Upstream(place.value)
    await this.#state.restore(upstream)
    upstream.lost.throwIfAborted()
    this.#current = upstream
    this.#wake.abort()
    return upstream
  }

  #reached({ target: { url, name } }: Upstream): void {
    if (!this.#isAway) return
    this.#isAway = false
    this.#parts.log.info({ url: shownUrl(url), name }, 'connected to the server again')
  }
}

/** A proxy may answer in place of a server that is away. */
function isFailure(answer: Exchanged | RpcAnswer): boolean {
  return answer.kind === 'refused' && answer.status >= 500
}
