import { McpError } from './carrier.ts'
import { heedDate } from './server-clock.ts'

export interface RpcMessage {
  readonly id?: number
  readonly method?: string
  readonly params?: Record<string, unknown>
  readonly result?: Record<string, unknown>
  readonly error?: { readonly message?: string; readonly data?: { readonly reason?: unknown } }
}

export interface Heard {
  /** Null: a keep-alive. The first message of a stream says that it is open. */
  (message: RpcMessage | null): void
}

/** One of the two transports of the protocol. */
export interface Transport {
  /** Throws `McpError` when the server refuses. */
  request(method: string, params: object): Promise<Record<string, unknown>>
  /** Follows the resources until the server ends the stream. Throws when it breaks. */
  listen(uris: readonly string[], heard: Heard, signal: AbortSignal): Promise<void>
}

/** `RequestInit` with plain headers. */
interface McpInit {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body?: string
  readonly signal?: AbortSignal
}

/** One hung answer must not stop everything that is read after it. */
const answerMs = 30_000

export const opened = 'notifications/subscriptions/acknowledged'
export const clientName = 'service-page'
export const clientTitle = 'Live page'

/** Sends requests to `/mcp` with the token of the page, if it has one. */
export class McpHttp {
  readonly #token: (refused?: string) => Promise<string | null>
  #lastId = 0

  /** `token` with the one that got a 401 gives another one, if there is. */
  constructor(token: (refused?: string) => Promise<string | null>) {
    this.#token = token
  }

  async post(
    method: string,
    params: object,
    headers: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<Response> {
    const isRequest = !method.startsWith('notifications/')
    const id = isRequest ? { id: ++this.#lastId } : {}
    return this.send({
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', ...id, method, params }),
      signal: signal ?? AbortSignal.timeout(answerMs),
    })
  }

  async send(init: McpInit): Promise<Response> {
    const token = await this.#token()
    const response = await reach('/mcp', withToken(init, token))
    if (response.status !== 401 || token === null) return checked(response)
    // A token lasts for minutes. After a restart of the server none may be known, or needed.
    return checked(await reach('/mcp', withToken(init, await this.#token(token))))
  }
}

/** `fetch`, whose own error is not for people. */
export async function reach(address: string, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(address, init)
    heedDate(response.headers.get('Date'))
    return response
  } catch {
    throw new Error('the server cannot be reached')
  }
}

function withToken(init: McpInit, token: string | null): RequestInit {
  return {
    ...init,
    headers: {
      Accept: 'application/json, text/event-stream',
      ...init.headers,
      ...(token !== null && { Authorization: `Bearer ${token}` }),
    },
    credentials: 'omit',
    cache: 'no-store',
  }
}

/** Reads the messages of an event stream until it ends. */
export async function readEvents(response: Response, heard: Heard): Promise<void> {
  if (response.body === null || !isEventStream(response)) {
    await resultOf(response)
    return
  }
  let rest = ''
  // Not every browser iterates over a stream.
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    heard(null)
    const frames = (rest + part.value).split('\n\n')
    rest = frames.pop() ?? ''
    for (const frame of frames) {
      const data = frame.split('\n').flatMap(line => /^data: ?(.*)$/.exec(line)?.[1] ?? [])
      if (data.join('') !== '') heard(JSON.parse(data.join('\n')) as RpcMessage)
    }
  }
}

/** The result of an answer. Throws `McpError` for an error in it. */
export async function resultOf(response: Response): Promise<Record<string, unknown>> {
  const { status } = response
  const { result, error }: RpcMessage = await response.json().catch(() => {
    throw new Error('the answer is not whole, or not one of this server')
  })
  if (result !== undefined) return result
  const reason = error?.data?.reason
  throw new McpError(
    error?.message ?? 'the server sent an answer without a result',
    status,
    typeof reason === 'string' ? reason : undefined,
  )
}

function isEventStream({ headers }: Response): boolean {
  return headers.get('Content-Type')?.startsWith('text/event-stream') === true
}

async function checked(response: Response): Promise<Response> {
  if (response.ok || isEventStream(response)) return response
  throw await refusalOf(response)
}

/** What a server says of a refusal: a JSON-RPC error, an OAuth error, or problem details. */
export async function refusalOf(response: Response): Promise<McpError> {
  const body: unknown = await response.json().catch(() => null)
  const { error, error_description, detail } = (body ?? {}) as Record<string, unknown>
  const { message, data } = (error ?? {}) as { message?: unknown; data?: { reason?: unknown } }
  const said = [message, error_description, detail].find(each => typeof each === 'string')
  const reason = typeof data?.reason === 'string' ? data.reason : undefined
  return new McpError(said ?? `the server answered ${response.status}`, response.status, reason)
}
