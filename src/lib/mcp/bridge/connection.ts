import type { IncomingHttpHeaders } from 'node:http'
import type { JsonObject } from '../../util/json.ts'
import type { Logger } from '../../util/logger.ts'
import type { Secret } from '../../util/secret.ts'
import { shownUrl } from '../../util/net.ts'
import type { Result } from '../../util/result.ts'
import { pause, retryDelay, systemTimer } from '../../util/time.ts'
import { type Asked, httpFailure, type Refused, rpcErrorIn } from '../client/failure.ts'
import type { RpcError } from '../json-rpc.ts'
import { bridgeError, serverGone, Unreachable } from './bridge-errors.ts'
import { exchange, type ExchangeAsk, type Exchanged, type ExchangeHooks } from './exchange.ts'
import { HttpLink } from './http-link.ts'
import { messageText, type RpcResponse } from './rpc.ts'

/** An MCP endpoint. */
export interface Target {
  readonly url: URL
  /** File of the owner's token, with which commands of the same account use the server. */
  readonly ownerFile?: string
}

/**
 * Finds the current endpoint, or fails with the reason as one clause. Called at the start and
 * after each loss of the server. Must not reject.
 */
export type Locate = () => Promise<Result<Target, string>>

/** The server from the moment it was located until it is lost. */
export interface Upstream {
  readonly url: URL
  /** Aborted when the server is lost. */
  readonly lost: AbortController
}

/** The answer to a request, and the headers of the response that carried it. */
export interface Answer {
  readonly result: JsonObject | null
  readonly headers: IncomingHttpHeaders
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
/** A stream that stays this long resets the backoff. */
const stableMs = 5000

/** HTTP to one server at a time, which is found again after a loss. */
export class Connection {
  readonly #parts: ConnectionParts
  readonly #link: HttpLink
  readonly #stop = new AbortController()
  #current: Upstream | null = null
  #attempt: Promise<Upstream> | null = null
  /** Aborted when a server was found. */
  #found = new AbortController()
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
    const { url } = upstream
    const ask = { ...asked, url, answerMs, maxAnswerBytes, signal }
    const begun = (): void => {
      if (this.#isAway) this.#parts.log.info({ url: shownUrl(url) }, 'the server answers')
      this.#isAway = false
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
  ): Promise<Answer> {
    let answer = null as (RpcResponse & Answer) | null
    const body = messageText({ id: 'service-cli', method, params })
    const { signal } = this.#stop
    const asked = { url: upstream.url, method: 'POST', headers, body, signal } as const
    const bounds = { answerMs: restoreMs, maxAnswerBytes }
    const ended = await exchange(
      this.#link,
      { ...asked, ...bounds },
      {
        async deliver({ messages, headers }) {
          const found = messages.find(message => message.kind === 'response')
          if (found !== undefined) answer = { ...found, headers }
        },
      },
    )
    if (answer?.error === null) return answer
    if (answer !== null) throw new Unreachable(`it refuses ${method}: ${answer.error.message}`)
    const isBroken = ended.kind === 'broken'
    throw new Unreachable(isBroken ? ended.reason : this.errorOf(ended, upstream).message)
  }

  /** The error of a request whose exchange ended so, without its answer. */
  errorOf(ended: Exchanged, { url }: Upstream): RpcError {
    return exchangeError(ended, { url, isKeyed: this.#parts.key !== null })
  }

  /**
   * Opens a stream, and again after each end and each loss of the server. `run` runs it to its end
   * and resolves with whether it must be opened again, as it must when it rejects with
   * `Unreachable`.
   */
  async keep(run: (upstream: Upstream) => Promise<boolean>, signal: AbortSignal): Promise<void> {
    const stopped = AbortSignal.any([signal, this.#stop.signal])
    for (let failures = 0; !stopped.aborted; failures++) {
      const sinceMs = performance.now()
      const mustReopen = await this.ready().then(run).catch(reopenIfUnreachable)
      if (!mustReopen || stopped.aborted) return
      if (performance.now() - sinceMs > stableMs) failures = 0
      const ends = AbortSignal.any([stopped, this.#found.signal])
      await pause(systemTimer, retryDelay(failures, Math.random), ends)
    }
  }

  /** The server is gone, or forgot the session. */
  lost(upstream: Upstream, reason: string): void {
    if (upstream.lost.signal.aborted || this.#stop.signal.aborted) return
    upstream.lost.abort()
    if (this.#current === upstream) this.#current = null
    const facts = { url: shownUrl(upstream.url), reason }
    if (!this.#isAway) this.#parts.log.warn(facts, 'no connection to the server')
    this.#isAway = true
  }

  /** Ends all requests. */
  stop(): void {
    this.#stop.abort()
    this.#link.close()
  }

  async #connect(): Promise<Upstream> {
    const place = await this.#parts.locate()
    if (!place.ok) throw new Unreachable(place.failure)
    this.#current = { url: place.value.url, lost: new AbortController() }
    this.#found.abort()
    this.#found = new AbortController()
    return this.#current
  }
}

function reopenIfUnreachable(error: unknown): true {
  if (error instanceof Unreachable) return true
  throw error
}

function exchangeError(ended: Exchanged, asked: Omit<Asked, 'method'>): RpcError {
  if (ended.kind === 'refused') return refusalError(ended, asked)
  if (ended.kind === 'aborted') return serverGone('the connection was closed')
  if (ended.kind === 'broken' && !ended.begun) return serverGone(ended.reason)
  if (ended.kind === 'oversize') {
    const message =
      `the answer is too large for stdio (at most ${maxAnswerBytes} bytes); ` +
      'read less of it, or fetch the download_url of an artefact'
    return bridgeError('answer_too_large', message, { max_bytes: maxAnswerBytes })
  }
  const cut = 'the server ended its answer before it was complete; repeat the request'
  return bridgeError('answer_incomplete', cut)
}

/** Translates an HTTP refusal into the error of the request. */
function refusalError(refused: Refused, asked: Omit<Asked, 'method'>): RpcError {
  const { status, body } = refused
  const error = rpcErrorIn(body)
  // It says more, and shows which transport the server has.
  if (error !== null && status !== 401) return error
  const { code, message, hint } = httpFailure(refused, { ...asked, method: 'POST' })
  const words = hint === undefined ? message : `${message}; ${hint}`
  return bridgeError(status === 401 ? code : 'server_refused', words, { status })
}
