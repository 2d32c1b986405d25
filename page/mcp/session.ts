import { version } from '../build-facts.ts'
import { McpError } from './carrier.ts'
import {
  clientName,
  clientTitle,
  type Heard,
  type McpHttp,
  opened,
  readEvents,
  resultOf,
  type Transport,
} from './transport.ts'

const revision = '2025-11-25'

/** The session transport, for a proxy that refuses the other one. */
export class Session implements Transport {
  readonly #http: McpHttp
  #headers: Promise<Record<string, string>> | null = null

  constructor(http: McpHttp) {
    this.#http = http
  }

  async request(method: string, params: object): Promise<Record<string, unknown>> {
    try {
      return await this.#ask(method, params)
    } catch (error) {
      if (!(error instanceof McpError && error.status === 404)) throw error
      // The server was started again.
      this.#headers = null
      return this.#ask(method, params)
    }
  }

  async listen(uris: readonly string[], heard: Heard, signal: AbortSignal): Promise<void> {
    for (const uri of uris) await this.request('resources/subscribe', { uri })
    const headers = await this.#opened()
    const response = await this.#http.send({ method: 'GET', headers, signal })
    heard({ method: opened })
    await readEvents(response, heard)
  }

  async #ask(method: string, params: object): Promise<Record<string, unknown>> {
    const response = await this.#http.post(method, params, await this.#opened())
    return resultOf(response)
  }

  #opened(): Promise<Record<string, string>> {
    this.#headers ??= this.#open().catch((error: unknown) => {
      this.#headers = null
      throw error
    })
    return this.#headers
  }

  async #open(): Promise<Record<string, string>> {
    const clientInfo = { name: clientName, title: clientTitle, version }
    const params = { protocolVersion: revision, capabilities: {}, clientInfo }
    const response = await this.#http.post('initialize', params, {})
    await resultOf(response)
    const headers = {
      'MCP-Protocol-Version': revision,
      'Mcp-Session-Id': response.headers.get('Mcp-Session-Id') ?? '',
    }
    await this.#http.post('notifications/initialized', {}, headers)
    return headers
  }
}
