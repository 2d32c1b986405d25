import { isJsonObject } from '../../lib/json.ts'
import { SseParser } from '../../lib/stdio-bridge/sse-parser.ts'

/** Why there is no session. */
export class SessionFailure extends Error {
  /** Null: no answer at all. */
  readonly status: number | null

  constructor(message: string, status: number | null) {
    super(message)
    this.status = status
  }
}

/** A client that is told of changes, as an AI client is. */
export interface PushSession {
  subscribe(uri: string): Promise<void>
  /** Settles when the server tells of a change of the URI; call it before the change. */
  updated(uri: string): Promise<void>
  close(): Promise<void>
}

export interface PushSessionOptions {
  /** Ends in `/mcp`. */
  readonly url: string
  readonly apiKey: string | null
  /** For everything, from the first request to the last update. */
  readonly timeoutMs: number
}

const revision = '2025-11-25'
/** An event of the stream that is longer is nothing that is waited for. */
const maxEventBytes = 1024 * 1024
const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }

/** Opens a session and its stream. Rejects with `SessionFailure`. */
export async function openPushSession(options: PushSessionOptions): Promise<PushSession> {
  const { url, apiKey, timeoutMs } = options
  const over = new AbortController()
  const signal = AbortSignal.any([over.signal, AbortSignal.timeout(timeoutMs)])
  const key: Record<string, string> = apiKey === null ? {} : { Authorization: `Bearer ${apiKey}` }
  const clientInfo = { name: 'service-cli-doctor', version: '1' }
  const opened = await post({ ...json, ...key }, 'initialize', {
    protocolVersion: revision,
    capabilities: {},
    clientInfo,
  })
  const sessionId = opened.headers.get('mcp-session-id')
  await opened.body?.cancel()
  if (sessionId === null) throw new SessionFailure('the server opened no session', opened.status)
  const headers = { ...json, ...key, 'Mcp-Session-Id': sessionId, 'Mcp-Protocol-Version': revision }
  const stream = await send('GET', { ...headers, Accept: 'text/event-stream' })
  const updates = new Updates()
  void updates.follow(stream)

  async function send(
    method: string,
    headers: Record<string, string>,
    body?: string,
  ): Promise<Response> {
    try {
      const init = { method, headers, signal, redirect: 'error' as const }
      const answer = await fetch(url, body === undefined ? init : { ...init, body })
      if (answer.ok) return answer
      await answer.body?.cancel()
      throw new SessionFailure(`HTTP ${answer.status}`, answer.status)
    } catch (error) {
      if (error instanceof SessionFailure) throw error
      throw new SessionFailure(reasonOf(error, timeoutMs), null)
    }
  }

  function post(
    headers: Record<string, string>,
    method: string,
    params: object,
  ): Promise<Response> {
    return send('POST', headers, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
  }

  return {
    async subscribe(uri) {
      const answer = await post(headers, 'resources/subscribe', { uri })
      const message: unknown = await answer.json()
      if (!isJsonObject(message) || message.error === undefined) return
      throw new SessionFailure('the server refused the subscription', answer.status)
    },
    updated: uri => updates.next(uri, signal),
    async close() {
      await send('DELETE', headers).then(
        answer => answer.body?.cancel(),
        () => {},
      )
      over.abort()
    },
  }
}

class Updates {
  readonly #waiting = new Set<{ uri: string; settle: () => void }>()

  next(uri: string, signal: AbortSignal): Promise<void> {
    const told = new Promise<void>((resolve, reject) => {
      const entry = {
        uri,
        settle: () => {
          this.#waiting.delete(entry)
          resolve()
        },
      }
      this.#waiting.add(entry)
      const tooLate = () => reject(new SessionFailure('no update came in time', null))
      signal.addEventListener('abort', tooLate, { once: true })
    })
    // Whoever waits hears of it; when something else failed first, nobody does.
    told.catch(() => {})
    return told
  }

  async follow(stream: Response): Promise<void> {
    const parser = new SseParser(maxEventBytes)
    try {
      for await (const chunk of stream.body ?? []) {
        for (const event of parser.push(Buffer.from(chunk))) {
          if (event.kind === 'message') this.#hear(event.data.toString('utf8'))
        }
      }
    } catch {
      // The end of the stream is the end of what is told.
    }
  }

  #hear(data: string): void {
    const uri = updatedUri(data)
    for (const entry of this.#waiting) if (entry.uri === uri) entry.settle()
  }
}

/** The URI of an update; null for any other message. */
function updatedUri(data: string): string | null {
  try {
    const message: unknown = JSON.parse(data)
    if (!isJsonObject(message) || message.method !== 'notifications/resources/updated') return null
    const { params } = message
    return isJsonObject(params) && typeof params.uri === 'string' ? params.uri : null
  } catch {
    return null
  }
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return 'the request failed'
  if (error.name === 'TimeoutError') return `no answer within ${timeoutMs} ms`
  const { cause } = error
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  return code === '' ? 'the request failed' : `the request failed (${code})`
}
