import { version } from '../build-facts.ts'

const protocolVersion = '2026-01-26'
/** A picture takes the application a while, and a wait for a change 20 s. */
const answerMs = 30_000

type Json = Readonly<Record<string, unknown>>

interface Message {
  readonly id?: number | string
  readonly method?: string
  readonly params?: Json
  readonly result?: Json
  readonly error?: { readonly message?: string }
}

/** What the chat says of itself; it may send parts of it again later. */
export interface HostContext {
  readonly theme?: 'light' | 'dark'
  readonly styles?: { readonly variables?: Readonly<Record<string, string | undefined>> }
  readonly containerDimensions?: { readonly maxHeight?: number }
  readonly toolInfo?: { readonly tool?: { readonly name?: string } }
}

/** JSON-RPC with the host of an MCP App, by `postMessage`. */
export class Bridge {
  readonly #host: Window
  readonly #handlers = new Map<string, (params: Json) => void>()
  readonly #waiting = new Map<unknown, PromiseWithResolvers<Json>>()
  #lastId = 0

  constructor(host: Window) {
    this.#host = host
    this.on('ping', () => {})
    window.addEventListener('message', ({ source, data }: MessageEvent<Message | null>) => {
      if (source === host && typeof data === 'object' && data !== null) this.#receive(data)
    })
  }

  /** Calls back for each request and notification of this method; a request is answered with `{}`. */
  on(method: string, handler: (params: Json) => void): void {
    this.#handlers.set(method, handler)
  }

  /** Opens the conversation: nothing else may be asked before. */
  async initialize(): Promise<HostContext> {
    const appInfo = { name: 'service-live', title: 'Live view', version }
    const params = { appInfo, appCapabilities: {}, protocolVersion }
    const { hostContext } = await this.request('ui/initialize', params)
    this.notify('ui/notifications/initialized', {})
    return (hostContext ?? {}) as HostContext
  }

  notify(method: string, params: Json): void {
    this.#send({ method, params })
  }

  /** Rejects when the host refuses, is silent for too long, or `signal` is aborted. */
  async request(method: string, params: Json, signal?: AbortSignal): Promise<Json> {
    signal?.throwIfAborted()
    const id = ++this.#lastId
    const answer = Promise.withResolvers<Json>()
    const giveUp = (reason: string): void => {
      answer.reject(new Error(reason))
      this.notify('notifications/cancelled', { requestId: id, reason })
    }
    const aborted = (): void => giveUp('no longer needed')
    const timer = setTimeout(() => giveUp('the chat does not answer'), answerMs)
    signal?.addEventListener('abort', aborted)
    this.#waiting.set(id, answer)
    this.#send({ id, method, params })
    try {
      return await answer.promise
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', aborted)
      this.#waiting.delete(id)
    }
  }

  #receive({ id, method, params = {}, result, error }: Message): void {
    if (method === undefined) {
      const answer = this.#waiting.get(id)
      if (result !== undefined) answer?.resolve(result)
      else answer?.reject(new Error(`the chat says: ${error?.message}`))
      return
    }
    const handler = this.#handlers.get(method)
    handler?.(params)
    if (id === undefined) return
    const refusal = { code: -32601, message: 'method not found' }
    this.#send(handler === undefined ? { id, error: refusal } : { id, result: {} })
  }

  #send(message: object): void {
    // The view knows no origin of its host; what it sends is no secret to whoever shows it.
    this.#host.postMessage({ jsonrpc: '2.0', ...message }, '*')
  }
}
