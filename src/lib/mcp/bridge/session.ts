import { messageOf } from '../../util/errors.ts'
import type { JsonObject } from '../../util/json.ts'
import { shownUrl } from '../../util/net.ts'
import { postHeaders } from '../request-metadata.ts'
import { Unreachable } from './bridge-errors.ts'
import type { Answer, Upstream } from './connection.ts'
import type { BridgeContext } from './context.ts'
import { messageText, type RpcRequest } from './rpc.ts'

/**
 * Headers of the requests in a session, which an answer to `initialize` opened; null when the answer
 * is invalid. A server may assign no id.
 */
function sessionHeaders({ result, headers }: Answer): Record<string, string> | null {
  const revision = result?.protocolVersion
  if (typeof revision !== 'string') return null
  const id = headers['mcp-session-id']
  return {
    ...postHeaders,
    ...(typeof id === 'string' && { 'Mcp-Session-Id': id }),
    'MCP-Protocol-Version': revision,
  }
}

/** For the DELETE that ends the session. */
const closeTimeoutMs = 500

/** The session of a client of 2024-11-05 to 2025-11-25, opened again at servers that lost it. */
export class ClientSession {
  readonly #context: BridgeContext
  /** The params of the client's `initialize`. */
  readonly #params: JsonObject
  readonly #end = new AbortController()
  readonly #subscriptions = new Set<string>()
  /** Of its requests; before the session is open, those of any POST. */
  headers: Record<string, string> = postHeaders
  #hadStream = false
  /** Where the session is open; null when the server has ended it. */
  #url: string | null = null
  /** The server that the session is used at; null before the session is open. */
  #upstream: Upstream | null = null
  /** Pending until it is usable there. */
  #restored: Promise<void> = Promise.resolve()

  constructor(context: BridgeContext, params: JsonObject) {
    this.#context = context
    this.#params = params
  }

  /** Keeps what the client reached with a request. */
  answered({ method, params: { uri } }: RpcRequest, answer: Answer, upstream: Upstream): void {
    if (method === 'initialize') this.#opened(sessionHeaders(answer), upstream)
    if (typeof uri !== 'string') return
    if (method === 'resources/subscribe') this.#subscriptions.add(uri)
    if (method === 'resources/unsubscribe') this.#subscriptions.delete(uri)
  }

  #opened(headers: Record<string, string> | null, upstream: Upstream): void {
    if (headers === null) return
    const { url } = upstream
    this.headers = headers
    this.#upstream = upstream
    this.#url = url.href
    this.#context.log.info({ url: shownUrl(url) }, 'session opened')
  }

  /** Without an id there is nothing to end or to lose. */
  get #hasId(): boolean {
    return 'Mcp-Session-Id' in this.headers
  }

  /** The client has sent `notifications/initialized`. */
  initialized(): void {
    if (this.#upstream === null || this.#end.signal.aborted) return
    void this.#context.connection.keep(at => this.#run(at), this.#end.signal)
  }

  /** Reports a 404. Returns whether there is a session to open again. */
  endedByServer(upstream: Upstream): boolean {
    if (!this.#hasId) return false
    if (upstream === this.#upstream) this.#url = null
    this.#context.connection.lost(upstream, 'the session has ended')
    return true
  }

  /** Makes the session usable at this server, before anything goes there. Rejects with `Unreachable`. */
  restore(upstream: Upstream): Promise<void> {
    if (this.#upstream === null || this.#upstream === upstream) return this.#restored
    this.#upstream = upstream
    this.#restored = this.#url === upstream.url.href ? Promise.resolve() : this.#openAgain(upstream)
    return this.#restored
  }

  /** Runs the stream of the session. Resolves with whether it must be opened again. */
  async #run(upstream: Upstream): Promise<boolean> {
    const { connection, output } = this.#context
    await this.restore(upstream)
    const isReconnect = this.#hadStream
    this.#hadStream = true
    const ask = {
      method: 'GET',
      headers: { ...this.headers, Accept: 'text/event-stream' },
      isStream: true,
      signal: this.#end.signal,
    } as const
    const ended = await connection.exchange(upstream, ask, {
      begun: () => void this.#catchUp(isReconnect),
      deliver: ({ line }) => output.send(line),
    })
    if (ended.kind !== 'refused' || ended.status >= 500) return true
    // A server without such streams answers 405.
    return ended.status === 404 && this.endedByServer(upstream)
  }

  /** Sends the notifications that the client may have missed before the stream was open. */
  async #catchUp(isReconnect: boolean): Promise<void> {
    const { output } = this.#context
    if (isReconnect)
      await output.send(messageText({ method: 'notifications/resources/list_changed' }))
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
    const upstream = this.#upstream
    if (!this.#hasId || upstream === null || upstream.lost.signal.aborted) return
    const signal = AbortSignal.timeout(closeTimeoutMs)
    const ask = { method: 'DELETE', headers: this.headers, signal } as const
    await connection.exchange(upstream, ask)
  }

  /** Opens a session for this client, and subscribes again. */
  async #openAgain(upstream: Upstream): Promise<void> {
    const { connection } = this.#context
    try {
      const answer = await connection.ask(upstream, postHeaders, 'initialize', this.#params)
      const headers = sessionHeaders(answer)
      if (headers === null) throw new Unreachable('invalid initialize result')
      const body = messageText({ method: 'notifications/initialized' })
      const { signal } = this.#end
      await connection.exchange(upstream, { method: 'POST', headers, body, signal })
      for (const uri of this.#subscriptions) {
        // The resource may be gone.
        await connection.ask(upstream, headers, 'resources/subscribe', { uri }).catch(() => {})
      }
      this.headers = headers
      this.#url = upstream.url.href
    } catch (error) {
      connection.lost(upstream, messageOf(error))
      throw error
    }
  }
}
