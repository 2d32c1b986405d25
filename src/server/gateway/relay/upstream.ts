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
import { chain, type MaybePromise, recovered } from '../../resources/maybe-promise.ts'
import { type AnswerReceiver, ReadLink, type ReadRequest } from './read-link.ts'

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

/** The body of a read: between the pieces come its id and its URI. */
const readBody = (() => {
  const body = JSON.stringify({
    ...{ jsonrpc: '2.0', id: '<id>', method: 'resources/read' },
    params: { uri: '<uri>', _meta: meta },
  })
  const [head = '', middle = '', tail = ''] = body.split(/"<id>"|"<uri>"/)
  return (id: string, uri: string) => `${head}"${id}"${middle}${JSON.stringify(uri)}${tail}`
})()

/** The connections to the instance, with one key or without. */
class Links {
  /** For calls, downloads and event streams. */
  readonly link: HttpLink
  readonly reads: ReadLink
  /** Of every read. */
  readonly readHeaders: Readonly<Record<string, string>>

  constructor(headers: Readonly<Record<string, string>>, key: Secret | null, timer: Timer) {
    this.link = new HttpLink({
      ...{ limits: { connectMs }, key, env: {}, timer, userAgent },
      refusesForeign: true,
    })
    this.reads = new ReadLink({ connectMs })
    this.readHeaders = {
      ...headers,
      'User-Agent': userAgent,
      'MCP-Protocol-Version': revision,
      'Mcp-Method': 'resources/read',
      ...(key !== null && { Authorization: `Bearer ${key.reveal()}` }),
    }
  }

  close(): void {
    this.link.close()
    this.reads.close()
  }
}

/** How the gateway asks one instance: with its own key, never that of a caller. */
export class Upstream {
  /** In every request: another instance at this address refuses it. */
  readonly identity: Readonly<Record<string, string>>
  /** Of every POST. */
  readonly headers: Readonly<Record<string, string>>
  readonly #parts: UpstreamParts
  readonly #open: Links
  #keyed: MaybePromise<Links | null> = null

  constructor(parts: UpstreamParts) {
    this.#parts = parts
    this.identity = { [instanceHeader]: parts.instanceId }
    this.headers = { ...postHeaders, ...this.identity }
    this.#open = this.#linksWith(null)
  }

  get url(): URL {
    return this.#parts.locate()
  }

  /** The connections to the instance, with a key where there is one and it may be used. */
  async link(): Promise<HttpLink> {
    return (await this.#links()).link
  }

  /** The status of an answer that refuses a request: the key may be another one now. */
  refused(status: number | undefined): void {
    if (status !== 401) return
    void chain(this.#keyed, links => links?.close())
    this.#keyed = null
  }

  /** Reads a resource, as the instance calls it; returns the way to cancel. */
  read(
    id: string,
    uri: string,
    times: Pick<ReadRequest, 'answerMs' | 'silenceMs'>,
    receiver: AnswerReceiver,
  ): (reason: Error) => void {
    let cancelled: Error | null = null
    let cancel = (reason: Error): void => void (cancelled = reason)
    const send = ({ reads, readHeaders }: Links): void => {
      if (cancelled !== null) return receiver.failed(cancelled)
      const headers = { ...readHeaders, 'Mcp-Name': encodeHeaderValue(uri) }
      const body = readBody(id, uri)
      cancel = reads.send({ url: this.url, headers, body, ...times }, receiver)
    }
    void recovered(
      () => chain(this.#links(), send),
      error => receiver.failed(error as Error),
    )
    return reason => cancel(reason)
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
    void chain(this.#keyed, links => links?.close())
  }

  #links(): MaybePromise<Links> {
    return chain(this.#parts.mayUseKey(), mayUseKey => {
      if (!mayUseKey) return this.#open
      this.#keyed ??= this.#openKeyed()
      return chain(this.#keyed, keyed => keyed ?? this.#open)
    })
  }

  /** Null: the host token is unknown here; the instance may need no key at all. */
  async #openKeyed(): Promise<Links | null> {
    const { instanceId, instancesDir } = this.#parts
    const file = tokenFile(instancesDir, instanceId)
    const token = await readSecretFile(file, 'host token').catch(() => null)
    // Kept as a value, so that reads need not wait. A missing file may be written later.
    this.#keyed = token === null ? null : this.#linksWith(gatewayKey(new Secret(token)))
    return this.#keyed
  }

  #linksWith(key: Secret | null): Links {
    return new Links(this.headers, key, this.#parts.timer)
  }
}
