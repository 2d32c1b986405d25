import { version } from '../build-facts.ts'
import { McpError } from './carrier.ts'

const revision = '2026-07-28'
const prefix = 'io.modelcontextprotocol/'
const meta = {
  [`${prefix}protocolVersion`]: revision,
  [`${prefix}clientInfo`]: { name: 'service-page', title: 'Live page', version },
  [`${prefix}clientCapabilities`]: {},
}

interface RpcMessage {
  readonly id?: number
  readonly method?: string
  readonly params?: Record<string, unknown>
  readonly result?: Record<string, unknown>
  readonly error?: { readonly message?: string; readonly data?: { readonly reason?: unknown } }
}

interface RpcParts {
  readonly url: string
  /** The bearer token for `Authorization`; null: none. `refused` is the one that got a 401. */
  token(refused?: string): Promise<string | null>
}

/** The stateless transport of `/mcp`. */
export class Rpc {
  readonly #parts: RpcParts
  #lastId = 0

  constructor(parts: RpcParts) {
    this.#parts = parts
  }

  async request(method: string, params: object): Promise<Record<string, unknown>> {
    const response = await this.#post(method, params)
    const message = (await response.json()) as RpcMessage
    return resultOf(message, response.status)
  }

  /** Runs until the server ends the stream. Throws when it breaks or is silent for too long. */
  async stream(
    method: string,
    params: object,
    { signal, heard }: { signal: AbortSignal; heard: (message: RpcMessage | null) => void },
  ): Promise<void> {
    const response = await this.#post(method, params, signal)
    if (response.body === null || !isEventStream(response)) {
      resultOf((await response.json()) as RpcMessage, response.status)
      return
    }
    let rest = ''
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      heard(null)
      const frames = (rest + chunk).split('\n\n')
      rest = frames.pop() ?? ''
      for (const frame of frames) {
        const data = frame.split('\n').flatMap(line => /^data: ?(.*)$/.exec(line)?.[1] ?? [])
        if (data.length > 0) heard(JSON.parse(data.join('\n')) as RpcMessage)
      }
    }
  }

  async #post(method: string, params: object, signal?: AbortSignal): Promise<Response> {
    const token = await this.#parts.token()
    const response = await this.#send(method, params, token, signal)
    if (response.status !== 401 || token === null) return checked(response)
    // A token lasts for minutes: another one may do.
    const next = await this.#parts.token(token)
    return checked(next === token ? response : await this.#send(method, params, next, signal))
  }

  #send(
    method: string,
    params: object,
    token: string | null,
    signal?: AbortSignal,
  ): Promise<Response> {
    const { uri } = params as { uri?: string }
    const id = ++this.#lastId
    return fetch(this.#parts.url, {
      method: 'POST',
      headers: {
        Accept: 'application/json, text/event-stream',
        'Content-Type': 'application/json',
        'MCP-Protocol-Version': revision,
        'Mcp-Method': method,
        ...(uri !== undefined && { 'Mcp-Name': uri }),
        ...(token !== null && { Authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } }),
      credentials: 'omit',
      cache: 'no-store',
      ...(signal && { signal }),
    })
  }
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

function resultOf({ result, error }: RpcMessage, status: number): Record<string, unknown> {
  if (result !== undefined) return result
  const reason = error?.data?.reason
  throw new McpError(
    error?.message ?? 'the server sent an answer without a result',
    status,
    typeof reason === 'string' ? reason : undefined,
  )
}
