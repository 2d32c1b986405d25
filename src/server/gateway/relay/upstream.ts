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
import type { MaybePromise } from '../../resources/maybe-promise.ts'

const connectMs = 5000
const revision = '2026-07-28'

interface UpstreamParts {
  readonly instanceId: string
  /** Its MCP endpoint, on this machine, as its record says now. Throws a `ServiceError`. */
  readonly locate: () => URL
  /**
   * A gateway that lets every caller read must not open an instance that asks for a key: then no key
   * is sent.
   */
  readonly mayUseKey: () => MaybePromise<boolean>
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
  /** In every request: another instance at this address refuses it. */
  readonly identity: Readonly<Record<string, string>>
  /** Of every POST. */
  readonly headers: Readonly<Record<string, string>>
  readonly #parts: UpstreamParts
  #keyed: Promise<HttpLink | null> | null = null
  readonly #open: HttpLink

  constructor(parts: UpstreamParts) {
    this.#parts = parts
    this.identity = { [instanceHeader]: parts.instanceId }
    this.headers = { ...postHeaders, ...this.identity }
    this.#open = this.#linkWith(null)
  }

  get url(): URL {
    return this.#parts.locate()
  }

  /** The connections to the instance, with a key where there is one and it may be used. */
  async link(): Promise<HttpLink> {
    if (!(await this.#parts.mayUseKey())) return this.#open
    this.#keyed ??= this.#openKeyed()
    const keyed = await this.#keyed
    if (keyed !== null) return keyed
    // The file may be written again.
    this.#keyed = null
    return this.#open
  }

  /** The status of an answer that refuses a request: the key may be another one now. */
  refused(status: number | undefined): void {
    if (status !== 401) return
    void this.#keyed?.then(link => link?.close())
    this.#keyed = null
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
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params: sent }),
      repeatable: true,
      answerMs,
      isHeld: true,
      signal,
    }
  }

  close(): void {
    this.#open.close()
    void this.#keyed?.then(link => link?.close())
  }

  /** Null: the host token is unknown here; the instance may need no key at all. */
  async #openKeyed(): Promise<HttpLink | null> {
    const { instanceId, instancesDir } = this.#parts
    const file = tokenFile(instancesDir, instanceId)
    const token = await readSecretFile(file, 'host token').catch(() => null)
    return token === null ? null : this.#linkWith(gatewayKey(new Secret(token)))
  }

  #linkWith(key: Secret | null): HttpLink {
    const { timer } = this.#parts
    return new HttpLink({ limits: { connectMs }, key, env: {}, timer, userAgent })
  }
}
