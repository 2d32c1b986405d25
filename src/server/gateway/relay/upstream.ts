import type { IncomingMessage } from 'node:http'
import { gatewayKey, instanceHeader } from '../../../lib/instances/gateway-key.ts'
import { tokenFile } from '../../../lib/instances/files.ts'
import { readSecretFile } from '../../../lib/auth/secret-file.ts'
import { postHeaders } from '../../../lib/mcp/bridge/context.ts'
import { type HttpAsk, HttpLink } from '../../../lib/mcp/bridge/http-link.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import { Secret } from '../../../lib/util/secret.ts'
import type { Timer } from '../../../lib/util/time.ts'
import { userAgent, version } from '../../../lib/util/version.ts'
import { encodeHeaderValue, metaKeys } from '../../../lib/mcp/request-metadata.ts'
import type { DirectoryRecord } from '../instance-directory.ts'

const connectMs = 5000
const revision = '2026-07-28'

interface UpstreamParts {
  readonly record: Pick<DirectoryRecord, 'instanceId'>
  /** Its MCP endpoint, on this machine. */
  readonly url: URL
  /** `<registry_dir>/instances` */
  readonly instancesDir: string
  readonly timer: Timer
}

/** What the gateway calls itself. */
export const gatewayInfo = { name: 'service-gateway', version } as const

const meta = {
  [metaKeys.protocolVersion]: revision,
  [metaKeys.clientInfo]: gatewayInfo,
  [metaKeys.clientCapabilities]: {},
}

/** How the gateway asks one instance: with its own key, never that of a caller. */
export class Upstream {
  readonly url: URL
  /** In every request: another instance at this address refuses it. */
  readonly identity: Readonly<Record<string, string>>
  /** Of every POST. */
  readonly headers: Readonly<Record<string, string>>
  readonly #parts: UpstreamParts
  #link: Promise<HttpLink> | null = null

  constructor(parts: UpstreamParts) {
    this.#parts = parts
    this.url = parts.url
    this.identity = { [instanceHeader]: parts.record.instanceId }
    this.headers = { ...postHeaders, ...this.identity }
  }

  /** The connections to the instance, with the key where the account has one. */
  link(): Promise<HttpLink> {
    this.#link ??= this.#open()
    return this.#link
  }

  /** Sends a request of 2026-07-28. Rejects with `Unreachable`, or the reason of the signal. */
  async ask(...asked: Parameters<Upstream['request']>): Promise<IncomingMessage> {
    return (await this.link()).ask(this.request(...asked))
  }

  /** A request of 2026-07-28. */
  request(
    id: string,
    method: string,
    params: JsonObject & { readonly _meta?: JsonObject },
    { answerMs, signal }: Pick<HttpAsk, 'answerMs' | 'signal'>,
  ): HttpAsk {
    const { uri, name } = params
    const about = typeof uri === 'string' ? uri : name
    const sent = { ...params, _meta: { ...params._meta, ...meta } }
    return {
      url: this.url,
      method: 'POST',
      headers: {
        ...this.headers,
        'MCP-Protocol-Version': revision,
        'Mcp-Method': method,
        ...(typeof about === 'string' ? { 'Mcp-Name': encodeHeaderValue(about) } : {}),
      },
      body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params: sent })),
      repeatable: true,
      answerMs,
      isHeld: true,
      signal,
    }
  }

  close(): void {
    void this.#link?.then(link => link.close())
  }

  async #open(): Promise<HttpLink> {
    const { record, instancesDir, timer } = this.#parts
    const file = tokenFile(instancesDir, record.instanceId)
    // Without the file the token is unknown here; the instance may need no key at all.
    const token = await readSecretFile(file, 'host token').catch(() => null)
    const key = token === null ? null : gatewayKey(new Secret(token))
    return new HttpLink({ limits: { connectMs }, key, env: {}, timer, userAgent })
  }
}
