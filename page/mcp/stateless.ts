import { version } from '../build-facts.ts'
import {
  clientName,
  clientTitle,
  type Heard,
  type McpHttp,
  readEvents,
  resultOf,
  type Transport,
} from './transport.ts'

const revision = '2026-07-28'
const prefix = 'io.modelcontextprotocol/'
const _meta = {
  [`${prefix}protocolVersion`]: revision,
  [`${prefix}clientInfo`]: { name: clientName, title: clientTitle, version },
  [`${prefix}clientCapabilities`]: {},
}

/** The stateless transport. */
export class Stateless implements Transport {
  readonly #http: McpHttp

  constructor(http: McpHttp) {
    this.#http = http
  }

  async request(method: string, params: object): Promise<Record<string, unknown>> {
    const response = await this.#post(method, params)
    return resultOf(response)
  }

  async listen(uris: readonly string[], heard: Heard, signal: AbortSignal): Promise<void> {
    const notifications = { resourceSubscriptions: uris, resourcesListChanged: true }
    const response = await this.#post('subscriptions/listen', { notifications }, signal)
    await readEvents(response, heard)
  }

  #post(method: string, params: object, signal?: AbortSignal): Promise<Response> {
    const { uri } = params as { uri?: string }
    const headers = {
      'MCP-Protocol-Version': revision,
      'Mcp-Method': method,
      ...(uri !== undefined && { 'Mcp-Name': uri }),
    }
    return this.#http.post(method, { ...params, _meta }, headers, signal)
  }
}
