import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import type { Logger } from '../../util/logger.ts'
import { Unreachable } from './bridge-errors.ts'
import { type Connection, streamOpenMs, type Upstream } from './connection.ts'
import { postHeaders, shownUrl } from './context.ts'
import type { ServerText } from './exchange.ts'
import type { Output } from './output.ts'
import { notificationMessage, type RpcRequest, type RpcResponse } from './rpc.ts'

/** A session as negotiated by `initialize`. */
export interface Session {
  /** Null when the server assigns none. */
  readonly id: string | null
  readonly revision: string
  /** Whether the server announces updated resources, and changes of the resource list. */
  readonly pushes: { readonly updates: boolean; readonly list: boolean }
}

/** The session of an `initialize` result; null when the result is invalid. */
export function openedSession(result: JsonObject, headers: IncomingHttpHeaders): Session | null {
  const { protocolVersion, capabilities } = result
  if (typeof protocolVersion !== 'string' || !/^[\x21-\x7e]{1,64}$/.test(protocolVersion)) {
    return null
  }
  const resources = isJsonObject(capabilities) ? capabilities.resources : undefined
  const offered = isJsonObject(resources) ? resources : {}
  const id = headers['mcp-session-id']
  return {
    id: typeof id === 'string' && /^[\x21-\x7e]{1,1024}$/.test(id) ? id : null,
    revision: protocolVersion,
    pushes: { updates: offered.subscribe === true, list: offered.listChanged === true },
  }
}

/** The first revision with the `MCP-Protocol-Version` header. */
const firstWithHeader = '2025-06-18'

/** Headers of a request in the session; null before a session. */
export function sessionHeaders(session: Session | null): Record<string, string> {
  if (session === null) return postHeaders
  const { id, revision } = session
  return {
    ...postHeaders,
    ...(id !== null && { 'Mcp-Session-Id': id }),
    ...(revision >= firstWithHeader && { 'MCP-Protocol-Version': revision }),
  }
}

interface ClientSessionParts {
  readonly connection: Connection
  readonly output: Output
  readonly log: Logger
}

/** Subscriptions renewed at the same time. */
const maxRenewals = 8
/** For the answer to `notifications/initialized`. */
const initializedMs = 10_000
/** For the DELETE that ends the session. */
const closeTimeoutMs = 500

/** The session of a client of 2024-11-05 to 2025-11-25, opened again at servers that lost it. */
export class ClientSession {
  readonly #parts: ClientSessionParts
  /** The params of the client's `initialize`. */
  readonly #params: JsonObject
  readonly #end = new AbortController()
  readonly #subscriptions = new Set<string>()
  #session: Session | null = null
  /** Where the session is open; null when the server has ended it. */
  #url: string | null = null
  /** The server that the session is used at. */
  #upstream: Upstream | null = null
  #isInitialized = false
  /** The server that the stream goes to. */
  #streaming: Upstream | null = null
  /** The client may have missed notifications. */
  #hasGap = false

  constructor(parts: ClientSessionParts, params: JsonObject) {
    this.#parts = parts
    this.#params = params
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
    if (method === 'initialize') this.#opened(openedSession(result, headers), upstream)
    if (typeof uri !== 'string') return
    if (method === 'resources/subscribe') this.#subscriptions.add(uri)
    if (method === 'resources/unsubscribe') this.#subscriptions.delete(uri)
  }

  #opened(session: Session | null, upstream: Upstream): void {
    if (session === null) return
    const { connection, log } = this.#parts
    const { url } = upstream.target
    this.#session = session
    this.#upstream = upstream
    this.#url = url.href
    connection.restorables.add(this)
    log.info({ url: shownUrl(url), revision: session.revision }, 'session opened')
  }

  /** The client has sent `notifications/initialized`. */
  initialized(): void {
    this.#isInitialized = true
  }

  /** Reports a 404. Returns whether there is a session to open again. */
  endedByServer(upstream: Upstream): boolean {
    if (this.#session?.id == null) return false
    if (upstream === this.#upstream) this.#url = null
    this.#parts.connection.lost(upstream, 'the session has ended')
    return true
  }

  /** Makes the session usable at this server. Rejects with `Unreachable`. */
  async restore(upstream: Upstream): Promise<void> {
    const session = this.#session
    if (session === null || this.#upstream === upstream) return
    const { href } = upstream.target.url
    if (this.#url !== href) this.#session = await this.#openAgain(upstream, session)
    this.#url = href
    this.#upstream = upstream
    this.#hasGap = true
  }

  /** Opens the stream unless it is open. Resolves with false when it must be tried again. */
  async openStream(upstream: Upstream): Promise<boolean> {
    const isReady = this.#isInitialized && this.#upstream === upstream
    if (!isReady || this.#streaming === upstream) return true
    this.#streaming = upstream
    const begun = Promise.withResolvers<boolean>()
    const ended = this.#stream(upstream, () => begun.resolve(true))
    const isOpen = await Promise.race([
      begun.promise,
      ended,
      delay(streamOpenMs, true, { ref: false }),
    ])
    if (isOpen && this.#hasGap) void this.#catchUp()
    return isOpen
  }

  /** Ends the session at the server. */
  async end(): Promise<void> {
    this.#end.abort()
    this.#parts.connection.restorables.delete(this)
    const upstream = this.#upstream
    if (this.#session?.id == null || upstream === null || upstream.lost.signal.aborted) return
    const signal = AbortSignal.timeout(closeTimeoutMs)
    const ask = { method: 'DELETE', headers: this.headers, signal } as const
    await this.#parts.connection.exchange(upstream, ask)
  }

  /** Opens a session for this client, and subscribes again. */
  async #openAgain(upstream: Upstream, lost: Session): Promise<Session> {
    const { connection } = this.#parts
    const params = { ...this.#params, protocolVersion: lost.revision }
    const answer = await connection.ask(upstream, postHeaders, 'initialize', params)
    if (answer.kind === 'error') {
      throw new Unreachable(`it refuses the session: ${answer.error.message}`)
    }
    const session = openedSession(answer.result, answer.headers)
    if (session === null) throw new Unreachable('invalid initialize result')
    if (session.revision !== lost.revision) {
      const what = `${session.revision} instead of ${lost.revision}`
      throw new Unreachable(`it now speaks revision ${what}; restart the client`)
    }
    const headers = sessionHeaders(session)
    if (this.#isInitialized) {
      const body = notificationMessage('notifications/initialized')
      const signal = AbortSignal.timeout(initializedMs)
      await connection.exchange(upstream, { method: 'POST', headers, body, signal })
    }
    const uris = [...this.#subscriptions]
    const subscribe = (uri: string): Promise<unknown> =>
      connection.ask(upstream, headers, 'resources/subscribe', { uri })
    for (let at = 0; at < uris.length; at += maxRenewals) {
      await Promise.all(uris.slice(at, at + maxRenewals).map(subscribe))
    }
    return session
  }

  /** Resolves with false when the stream must be opened again. */
  async #stream(upstream: Upstream, begun: () => void): Promise<boolean> {
    const { connection, log } = this.#parts
    const deliver = async (text: ServerText): Promise<boolean> => {
      await this.#pushed(text)
      return true
    }
    const headers = { ...this.headers, Accept: 'text/event-stream' }
    const ask = { method: 'GET', headers, isStream: true, signal: this.#end.signal } as const
    const ended = await connection.exchange(upstream, ask, { begun, deliver })
    if (ended.kind === 'refused' && ended.status < 500 && ended.status !== 429) {
      const isUnknown = ended.status === 404 && this.endedByServer(upstream)
      if (!isUnknown) {
        log.info({ status: ended.status }, 'the server has no stream for notifications')
        return true
      }
    }
    // Another server may have its stream by now.
    if (this.#end.signal.aborted || this.#streaming !== upstream) return true
    this.#streaming = null
    this.#hasGap = true
    connection.reconnect(ended.kind === 'ended' ? ended.retryMs : 0)
    return false
  }

  async #pushed({ line, messages }: ServerText): Promise<void> {
    const { log, output } = this.#parts
    if (!messages.some(({ kind }) => kind === 'response')) return output.send(line)
    return log.warn({}, 'dropped a response on the stream of the session')
  }

  /** Sends the notifications that the client may have missed. */
  async #catchUp(): Promise<void> {
    this.#hasGap = false
    const { output } = this.#parts
    const { pushes } = this.#session ?? {}
    if (pushes?.list) await output.send(notificationMessage('notifications/resources/list_changed'))
    for (const uri of pushes?.updates ? this.#subscriptions : []) {
      if (this.#end.signal.aborted) return
      await output.send(notificationMessage('notifications/resources/updated', { uri }))
    }
  }
}
