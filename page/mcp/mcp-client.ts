import { version } from '../build-facts.ts'
import { McpError } from './carrier.ts'
import type { Login } from './login.ts'

interface RpcMessage {
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: Record<string, unknown>
  readonly error?: { readonly message?: string }
}

/** Called with each message of a stream, and with null whenever a part of it arrives. */
type Heard = (message: RpcMessage | null) => void

/** One hung answer must not stop everything that is read after it. */
const answerMs = 30_000
const revision = '2026-07-28'
const prefix = 'io.modelcontextprotocol/'
const _meta = {
  [`${prefix}protocolVersion`]: revision,
  [`${prefix}clientInfo`]: { name: 'service-page', title: 'Live page', version },
  [`${prefix}clientCapabilities`]: {},
}

/** Sends requests to `/mcp` by the stateless transport. */
export class McpClient {
  readonly #login: Login
  #lastId = 0

  constructor(login: Login) {
    this.#login = login
  }

  /** Throws `McpError` when the server refuses, `Error` when it cannot be reached. */
  async request(method: string, params: object): Promise<Record<string, unknown>> {
    return resultOf(await this.#post(method, params, AbortSignal.timeout(answerMs)))
  }

  /** Follows the resources until the server ends the stream. Throws when it breaks. */
  async listen(uris: readonly string[], heard: Heard, signal: AbortSignal): Promise<void> {
    const notifications = { resourceSubscriptions: uris, resourcesListChanged: true }
    await readEvents(await this.#post('subscriptions/listen', { notifications }, signal), heard)
  }

  #post(method: string, params: object, signal: AbortSignal): Promise<Response> {
    const { uri } = params as { uri?: string }
    const message = { jsonrpc: '2.0', id: ++this.#lastId, method, params: { ...params, _meta } }
    return this.#login.fetch('/mcp', {
      method: 'POST',
      headers: {
        Accept: 'application/json, text/event-stream',
        'Content-Type': 'application/json',
        'MCP-Protocol-Version': revision,
        'Mcp-Method': method,
        ...(uri !== undefined && { 'Mcp-Name': uri }),
      },
      body: JSON.stringify(message),
      signal,
    })
  }
}

/** Reads the messages of an event stream until it ends. */
async function readEvents(response: Response, heard: Heard): Promise<void> {
  const isStream = response.headers.get('Content-Type')?.startsWith('text/event-stream') === true
  if (response.body === null || !isStream) {
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
async function resultOf(response: Response): Promise<Record<string, unknown>> {
  const { result, error }: RpcMessage = await response.json().catch(() => {
    throw new Error('the answer is not whole, or not one of this server')
  })
  if (result !== undefined) return result
  throw new McpError(
    error?.message ?? 'the server sent an answer without a result',
    response.status,
  )
}
