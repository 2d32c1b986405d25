import { Unreachable } from '../../../lib/mcp/bridge/bridge-errors.ts'
import { askOnce, exchange, type Exchanged } from '../../../lib/mcp/bridge/exchange.ts'
import type { HttpAsk } from '../../../lib/mcp/bridge/http-link.ts'
import { messageText } from '../../../lib/mcp/bridge/rpc.ts'
import { sessionHeaders } from '../../../lib/mcp/bridge/session.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import { monotonicClock, pause, type Timer } from '../../../lib/util/time.ts'
import { outerUri } from './instance-uri.ts'
import { answeredError, isUnreachable, unreachable } from './relay-errors.ts'
import { gatewayInfo, type Upstream } from './upstream.ts'

const revision = '2025-11-25'
const maxAnswerBytes = 64 * 1024
/** For a message that needs no answer. */
const noticeMs = 2000
/** Updates in a row after which the other instances have their turn. */
const maxBurst = 200
const burstPauseMs = 50

interface SessionParts {
  readonly upstream: Upstream
  /** For the answer to one message. */
  readonly answerMs: number
  readonly notified: (method: string, params: JsonObject) => void
  readonly timer: Timer
  /** Ends the session. */
  readonly signal: AbortSignal
}

/** One session with an instance, and the stream of it. */
export class UpstreamSession {
  readonly #parts: SessionParts
  readonly #end = new AbortController()
  readonly #signal: AbortSignal
  #headers: Readonly<Record<string, string>>
  #lastId = 0
  /** The instance does not open itself to this gateway. */
  isRefused = false

  constructor(parts: SessionParts) {
    this.#parts = parts
    this.#signal = AbortSignal.any([parts.signal, this.#end.signal])
    this.#headers = parts.upstream.headers
  }

  /** Resolves with the reason when the session has ended. `begun`: the stream is open. */
  async run(begun: () => void): Promise<ServiceError> {
    try {
      await this.#initialize()
      const ended = await this.#stream(begun)
      // A session whose connection was lost ends by itself.
      if (ended.kind !== 'broken') await this.#notice({ method: 'DELETE' })
      return endOf(ended)
    } catch (error) {
      if (isUnreachable(error)) return error
      return unreachable(error instanceof Error ? error.message : String(error))
    } finally {
      this.end()
    }
  }

  /** Null, or why the instance refuses. Rejects when the session is lost. */
  async call(method: string, uri: string): Promise<ServiceError | null> {
    try {
      await this.#ask(method, { uri })
      return null
    } catch (error) {
      if (error instanceof ServiceError && !isUnreachable(error)) return error
      throw error
    }
  }

  get isEnded(): boolean {
    return this.#end.signal.aborted
  }

  end(): void {
    this.#end.abort()
  }

  async #initialize(): Promise<void> {
    const params = { protocolVersion: revision, capabilities: {}, clientInfo: gatewayInfo }
    const answer = await this.#ask('initialize', params)
    const opened = sessionHeaders(answer)
    if (opened === null) throw unreachable('it opens no session')
    this.#headers = { ...this.#headers, ...opened }
    const body = messageText({ method: 'notifications/initialized' })
    await this.#notice({ method: 'POST', body })
  }

  async #stream(begun: () => void): Promise<Exchanged> {
    const { timer, upstream, answerMs, notified } = this.#parts
    let burst = 0
    let burstSinceMs = 0
    return exchange(
      await upstream.asker(),
      {
        url: upstream.url,
        method: 'GET',
        headers: { ...this.#headers, Accept: 'text/event-stream' },
        answerMs,
        maxAnswerBytes,
        isStream: true,
        signal: this.#signal,
      },
      {
        begun,
        deliver: async ({ messages }) => {
          for (const message of messages) {
            if (message.kind === 'notification') notified(message.method, message.params)
          }
          const nowMs = monotonicClock.now()
          if (nowMs - burstSinceMs > burstPauseMs) {
            burst = 0
            burstSinceMs = nowMs
          }
          if (++burst >= maxBurst) await pause(timer, burstPauseMs, this.#signal)
        },
      },
    )
  }

  async #ask(method: string, params: JsonObject) {
    const { upstream, answerMs } = this.#parts
    const answer = await askOnce(await upstream.asker(), {
      url: upstream.url,
      method: 'POST',
      headers: this.#headers,
      body: messageText({ id: ++this.#lastId, method, params }),
      answerMs,
      maxAnswerBytes,
      signal: this.#signal,
    })
    switch (answer.kind) {
      case 'response':
        if (answer.error === null) return answer
        throw answeredError(answer.error, this.#outer(params.uri))
      case 'broken':
        throw unreachable(answer.reason)
      case 'refused':
        upstream.refused(answer.status)
        this.isRefused = answer.status === 401
        throw unreachable(`it answers with HTTP ${answer.status}`)
      default:
        throw unreachable('it gives no answer')
    }
  }

  /** What the message is about, as clients of the gateway call it. */
  #outer(uri: unknown): string {
    const { instanceId } = this.#parts.upstream
    return outerUri(instanceId, String(uri)) ?? `instance://${instanceId}/`
  }

  /** Sends what needs no answer. */
  async #notice(message: Pick<HttpAsk, 'method' | 'body'>): Promise<void> {
    const { upstream } = this.#parts
    const signal = AbortSignal.timeout(noticeMs)
    try {
      const link = await upstream.asker()
      const asked = { url: upstream.url, headers: this.#headers }
      const answer = await link.ask({ ...asked, ...message, answerMs: noticeMs, signal })
      answer.resume()
    } catch (error) {
      if (!(error instanceof Unreachable) && !signal.aborted) throw error
    }
  }
}

function endOf(ended: Exchanged): ServiceError {
  if (ended.kind === 'broken') return unreachable(ended.reason)
  if (ended.kind === 'refused') return unreachable(`it answers with HTTP ${ended.status}`)
  return unreachable('it has ended the session')
}
