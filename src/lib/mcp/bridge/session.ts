import type { IncomingHttpHeaders } from 'node:http'
import type { JsonObject } from '../../util/json.ts'
import { postHeaders } from '../request-metadata.ts'
import { Unreachable } from './bridge-errors.ts'
import type { Upstream } from './connection.ts'
import { type BridgeContext, shownUrl } from './context.ts'
import { messageText, type RpcRequest } from './rpc.ts'

/** A session as negotiated by `initialize`. */
export interface Session {
  /** Null when the server assigns none. */
  readonly id: string | null
  readonly revision: string
}

/** The session of an `initialize` result; null when the result is invalid. */
export function openedSession(
  result: JsonObject | null,
  headers: IncomingHttpHeaders,
): Session | null {
  const revision = result?.protocolVersion
  if (typeof revision !== 'string') return null
  const id = headers['mcp-session-id']
  return { id: typeof id === 'string' ? id : null, revision }
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

/** For the answer to `notifications/initialized`. */
const initializedMs = 10_000
/** For the DELETE that ends the session. */
const closeTimeoutMs = 500

/** The session of a client of 2024-11-05 to 2025-11-25, opened again at servers that lost it. */
export class ClientSession {
  readonly #context: BridgeContext
  /** The params of the client's `initialize`. */
  readonly #params: JsonObject
  readonly #end = new AbortController()
  readonly #subscriptions = new Set<string>()
  #session: Session | null = null
  #hadStream = false
  /** Where the session is open; null when the server has ended it. */
  #url: string | null = null
  /** The server that the session is used at. */
  #upstream: Upstream | null = null

  constructor(context: BridgeContext, params: JsonObject) {
    this.#context = context
    this.#params = params
  }

  get headers(): Record<string, string> {
    return sessionHeaders(this.#session)
  }

  /** Keeps what the client reached with a request. */
  answered(
    { method, params: { uri } }: RpcRequest,
    result: JsonObject,
    headers: IncomingHttpHeaders,
    upstream: Upstream,
  ): void {
    if (method === 'initialize') this.#opened(openedSession(result, headers), upstream)
    if (typeof uri !== 'string') return
    if (method === 'resources/subscribe') this.#subscriptions.add(uri)
    if (method === 'resources/unsubscribe') this.#subscriptions.delete(uri)
  }

  #opened(session: Session | null, upstream: Upstream): void {
    if (session === null) return
    const { url } = upstream
    this.#session = session
    this.#upstream = upstream
    this.#url = url.href
    const facts = { url: shownUrl(url), revision: session.revision }
    this.#context.log.info(facts, 'session opened')
  }

  /** The client has sent `notifications/initialized`. */
  initialized(): void {
    if (this.#upstream === null || this.#end.signal.aborted) return
    this.#context.connection.open(this, this.#upstream)
  }

  /** Reports a 404. Returns whether there is a session to open again. */
  endedByServer(upstream: Upstream): boolean {
    if (this.#session?.id == null) return false
    if (upstream === this.#upstream) this.#url = null
    this.#context.connection.lost(upstream, 'the session has ended')
    return true
  }

  /** Makes the session usable at this server. Rejects with `Unreachable`. */
  async restore(upstream: Upstream): Promise<void> {
    if (this.#upstream === upstream) return
    const { href } = upstream.url
    if (this.#url !== href) this.#session = await this.#openAgain(upstream)
    this.#url = href
    this.#upstream = upstream
  }

  /** Runs the stream of the session as `KeptStream` has it. */
  async run(upstream: Upstream): Promise<boolean> {
    const { connection, output } = this.#context
    const isAgain = this.#hadStream
    this.#hadStream = true
    const ask = {
      method: 'GET',
      headers: { ...this.headers, Accept: 'text/event-stream' },
      isStream: true,
      signal: this.#end.signal,
    } as const
    const ended = await connection.exchange(upstream, ask, {
      begun: () => void this.#catchUp(isAgain),
      deliver: ({ line }) => output.send(line),
    })
    if (ended.kind !== 'refused' || ended.status >= 500) return true
    // A server without such streams answers 405.
    return ended.status === 404 && this.endedByServer(upstream)
  }

  /** Sends the notifications that the client may have missed before the stream was open. */
  async #catchUp(isAgain: boolean): Promise<void> {
    const { output } = this.#context
    if (isAgain) await output.send(messageText({ method: 'notifications/resources/list_changed' }))
    for (const uri of this.#subscriptions) {
      if (this.#end.signal.aborted) return
      const method = 'notifications/resources/updated'
      await output.send(messageText({ method, params: { uri } }))
    }
  }

  /** Ends the session at the server. */
  async end(): Promise<void> {
    const { connection } = this.#context
    this.#end.abort()
    connection.forget(this)
    const upstream = this.#upstream
    if (this.#session?.id == null || upstream === null || upstream.lost.signal.aborted) return
    const signal = AbortSignal.timeout(closeTimeoutMs)
    const ask = { method: 'DELETE', headers: this.headers, signal } as const
    await connection.exchange(upstream, ask)
  }

  /** Opens a session for this client, and subscribes again. */
  async #openAgain(upstream: Upstream): Promise<Session> {
    const { connection } = this.#context
    const params = { ...this.#params, protocolVersion: this.#session?.revision }
    const { result, headers: answered } = await connection.ask(
      upstream,
      postHeaders,
      'initialize',
      params,
    )
    const session = openedSession(result, answered)
    if (session === null) throw new Unreachable('invalid initialize result')
    const headers = sessionHeaders(session)
    const body = messageText({ method: 'notifications/initialized' })
    const signal = AbortSignal.timeout(initializedMs)
    const ask = { method: 'POST', headers, body, signal } as const
    await connection.exchange(upstream, ask)
    for (const uri of this.#subscriptions) {
      // The resource may be gone.
      await connection.ask(upstream, headers, 'resources/subscribe', { uri }).catch(() => {})
    }
    return session
  }
}
