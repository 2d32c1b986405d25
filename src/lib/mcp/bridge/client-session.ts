import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { JsonObject } from '../../util/json.ts'
import type { Logger } from '../../util/logger.ts'
import { Unreachable } from './bridge-errors.ts'
import type { Connection, Upstream } from './connection.ts'
import { shownUrl } from './context.ts'
import type { Exchanged, ServerText } from './exchange.ts'
import type { Output } from './output.ts'
import { notificationMessage, type RpcRequest, type RpcResponse } from './rpc.ts'
import { openedSession, type Session, sessionHeaders } from './session.ts'

const listChanged = 'notifications/resources/list_changed'
/** Subscriptions renewed at the same time. */
const maxRenewals = 8
/** Some servers begin their stream only with the first notification. */
export const streamOpenMs = 1000
/** For the DELETE that ends the session. */
const closeTimeoutMs = 500

interface ClientSessionParts {
  readonly connection: Connection
  readonly output: Output
  readonly log: Logger
  /** The params of the client's `initialize`. */
  readonly params: JsonObject
}

/** The session of a client of 2024-11-05 to 2025-11-25, renewed at each server that loses it. */
export class ClientSession {
  readonly #parts: ClientSessionParts
  readonly #end = new AbortController()
  #session: Session | null = null
  /** Where the session was opened or found alive last. */
  #upstream: Upstream | null = null
  #isInitialized = false
  #isEndedByServer = false
  readonly #subscriptions = new Set<string>()
  /** Subscriptions that the server does not have: it refused to renew them. */
  readonly #refused = new Set<string>()
  /** The server that the stream goes to, or that has no stream. */
  #streamUpstream: Upstream | null = null
  /** The client may have missed notifications. */
  #hasGap = false

  constructor(parts: ClientSessionParts) {
    this.#parts = parts
  }

  get isOpen(): boolean {
    return this.#session !== null && !this.#end.signal.aborted
  }

  get headers(): Record<string, string> {
    return sessionHeaders(this.#session)
  }

  /** Keeps what the client reached with a request. */
  answered(
    { method, params: { uri } }: RpcRequest,
    { result }: RpcResponse,
    headers: IncomingHttpHeaders,
    upstream: Upstream,
  ): void {
    if (result === null) return
    if (method === 'initialize') this.#opened(upstream, openedSession(result, headers))
    if (typeof uri !== 'string') return
    if (method === 'resources/subscribe') this.#subscriptions.add(uri)
    if (method === 'resources/unsubscribe') this.#subscriptions.delete(uri)
  }

  /** Must be called when the client has sent `notifications/initialized`. */
  initialized(): void {
    this.#isInitialized = true
  }

  /** Reports a 404 in the session. Returns whether there is a session to renew. */
  endedByServer(upstream: Upstream): boolean {
    if (this.#session?.id == null) return false
    if (upstream === this.#upstream) this.#isEndedByServer = true
    this.#parts.connection.lost(upstream, 'the session has ended')
    return true
  }

  /** Finds the session alive at this server, or opens it again with its subscriptions. */
  async restore(upstream: Upstream): Promise<void> {
    const lost = this.#session
    if (lost === null || this.#upstream === upstream) return
    const isSame = this.#upstream?.target.url.href === upstream.target.url.href
    if (isSame && !this.#isEndedByServer && (await this.#isAlive(upstream))) {
      this.#upstream = upstream
      this.#hasGap = true
      return
    }
    const session = await this.#initialize(upstream, lost)
    const { connection } = this.#parts
    if (this.#isInitialized) {
      await connection.exchange(
        upstream,
        {
          method: 'POST',
          headers: sessionHeaders(session),
          body: notificationMessage('notifications/initialized'),
          repeatable: true,
          signal: this.#signal(upstream),
        },
        { deliver: async () => true },
      )
    }
    for (const uri of this.#subscriptions) this.#refused.add(uri)
    await this.#subscribeRefused(upstream, session)
    this.#session = session
    this.#upstream = upstream
    this.#isEndedByServer = false
    this.#hasGap = true
  }

  /**
   * Opens the stream for notifications unless it is open. Resolves with false when it must be tried
   * again.
   */
  async openStream(upstream: Upstream): Promise<boolean> {
    const isReady = this.isOpen && this.#isInitialized && this.#upstream === upstream
    if (!isReady || this.#streamUpstream === upstream) return true
    this.#streamUpstream = upstream
    const begun = Promise.withResolvers<boolean>()
    const ended = this.#stream(upstream, () => begun.resolve(true))
    const late = delay(streamOpenMs, true, { ref: false })
    const isOpen = await Promise.race([begun.promise, ended, late])
    if (isOpen) void this.#catchUp()
    return isOpen
  }

  /** Ends the session at the server. */
  async end(): Promise<void> {
    this.#end.abort()
    const { headers } = this
    const upstream = this.#upstream
    if (this.#session?.id == null || upstream === null || upstream.lost.aborted) return
    await this.#parts.connection.delete(upstream, headers, closeTimeoutMs)
  }

  #opened(upstream: Upstream, session: Session | null): void {
    this.#session = session
    this.#upstream = upstream
    const url = shownUrl(upstream.target.url)
    this.#parts.log.info({ url, revision: session?.revision }, 'session opened')
  }

  #signal(upstream: Upstream): AbortSignal {
    return AbortSignal.any([this.#end.signal, this.#parts.connection.stopped, upstream.lost])
  }

  async #isAlive(upstream: Upstream): Promise<boolean> {
    const answer = await this.#parts.connection.ask(upstream, this.headers, 'ping', {})
    return answer.kind === 'result'
  }

  async #initialize(upstream: Upstream, lost: Session): Promise<Session> {
    const { connection, params } = this.#parts
    const asked = { ...params, protocolVersion: lost.revision }
    const answer = await connection.ask(upstream, sessionHeaders(null), 'initialize', asked)
    if (answer.kind === 'refused') {
      throw new Unreachable(connection.refusal(answer, upstream).message)
    }
    if (answer.kind === 'error') {
      throw new Unreachable(`it refuses the session: ${answer.error.message}`)
    }
    const session = openedSession(answer.result, answer.headers)
    if (session === null) throw new Unreachable('invalid initialize result')
    if (session.revision === lost.revision) return session
    const what = `${session.revision} instead of ${lost.revision}`
    throw new Unreachable(`it now speaks revision ${what}; restart the client`)
  }

  /** Renews subscriptions that the server does not have. Resolves with those that it accepted. */
  async #subscribeRefused(upstream: Upstream, session: Session): Promise<string[]> {
    const { connection } = this.#parts
    const headers = sessionHeaders(session)
    const uris = [...this.#refused].filter(uri => this.#subscriptions.has(uri))
    const accepted: string[] = []
    for (let at = 0; at < uris.length; at += maxRenewals) {
      await Promise.all(
        uris.slice(at, at + maxRenewals).map(async uri => {
          const answer = await connection.ask(upstream, headers, 'resources/subscribe', { uri })
          if (answer.kind === 'result' && this.#refused.delete(uri)) accepted.push(uri)
        }),
      )
    }
    return accepted
  }

  async #stream(upstream: Upstream, begun: () => void): Promise<boolean> {
    const ended = await this.#parts.connection.exchange(
      upstream,
      {
        method: 'GET',
        headers: { ...this.headers, Accept: 'text/event-stream' },
        repeatable: true,
        isIdle: true,
        signal: this.#signal(upstream),
      },
      {
        begun,
        deliver: async text => {
          await this.#pushed(text, upstream)
          return true
        },
      },
    )
    return this.#streamEnded(upstream, ended)
  }

  /** Returns false when the stream must be opened again. */
  #streamEnded(upstream: Upstream, ended: Exchanged): boolean {
    const { connection, log } = this.#parts
    if (ended.kind === 'refused' && ended.status === 404) {
      this.endedByServer(upstream)
    } else if (ended.kind === 'refused' && ended.status < 500 && ended.status !== 429) {
      log.info({ status: ended.status }, 'the server has no stream for notifications')
      return true
    }
    if (this.#end.signal.aborted) return true
    this.#streamUpstream = null
    this.#hasGap = true
    connection.reconnect(ended.kind === 'ended' ? ended.retryMs : 0)
    return false
  }

  async #pushed({ line, messages }: ServerText, upstream: Upstream): Promise<void> {
    const { log, output } = this.#parts
    if (messages.some(({ kind }) => kind === 'response')) {
      log.warn({}, 'dropped a response on the stream of the session')
      return
    }
    await output.send(line)
    // A new resource may be the one that a refused subscription names.
    const isChanged = messages.some(
      message => 'method' in message && message.method === listChanged,
    )
    if (isChanged && this.#session !== null && this.#refused.size > 0) {
      const accepted = this.#subscribeRefused(upstream, this.#session)
      void accepted.then(uris => this.#announce(uris)).catch(() => {})
    }
  }

  /** Sends the notifications that the client may have missed. */
  async #catchUp(): Promise<void> {
    if (!this.#hasGap || this.#session === null) return
    this.#hasGap = false
    const { pushes } = this.#session
    if (pushes.list) await this.#parts.output.send(notificationMessage(listChanged))
    if (pushes.updates) await this.#announce([...this.#subscriptions])
  }

  async #announce(uris: string[]): Promise<void> {
    for (const uri of uris) {
      if (!this.#subscriptions.has(uri) || this.#end.signal.aborted) continue
      const message = notificationMessage('notifications/resources/updated', { uri })
      await this.#parts.output.send(message)
    }
  }
}
