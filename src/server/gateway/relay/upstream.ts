import { instanceHeader } from '../../../lib/instances/gateway-key.ts'
import type { HttpAsk, HttpAsker } from '../../../lib/mcp/bridge/http-link.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import { userAgent, version } from '../../../lib/util/version.ts'
import {
  encodeHeaderValue,
  metaKeys,
  postHeaders,
  statelessHeaders,
} from '../../../lib/mcp/request-metadata.ts'
import type {
  AnswerReceiver,
  InstanceTransport,
  ReadRequest,
  ReadSender,
} from './instance-transport.ts'

const revision = '2026-07-28'

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
    jsonrpc: '2.0',
    id: '<id>',
    method: 'resources/read',
    params: { uri: '<uri>', _meta: meta },
  })
  const [head = '', middle = '', tail = ''] = body.split(/"<id>"|"<uri>"/)
  return (id: string, uri: string) => `${head}"${id}"${middle}${JSON.stringify(uri)}${tail}`
})()

/** How the gateway asks one instance: in its own name, never in that of a caller. */
export class Upstream {
  readonly instanceId: string
  /** In every request: another instance at this address refuses it. */
  readonly identity: Readonly<Record<string, string>>
  /** Of every POST. */
  readonly headers: Readonly<Record<string, string>>
  readonly #readHeaders: Readonly<Record<string, string>>
  readonly #transport: InstanceTransport

  constructor(instanceId: string, transport: InstanceTransport) {
    this.instanceId = instanceId
    this.#transport = transport
    this.identity = { [instanceHeader]: instanceId }
    this.headers = { ...postHeaders, ...this.identity }
    this.#readHeaders = {
      ...statelessHeaders('resources/read', {}, revision),
      ...this.identity,
      'User-Agent': userAgent,
    }
  }

  get url(): URL {
    return this.#transport.url
  }

  async asker(): Promise<HttpAsker> {
    return this.#transport.asker()
  }

  refused(status: number | undefined): void {
    this.#transport.refused(status)
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
    const send = (reads: ReadSender): void => {
      if (cancelled !== null) return receiver.failed(cancelled)
      const headers = { ...this.#readHeaders, 'Mcp-Name': encodeHeaderValue(uri) }
      const body = readBody(id, uri)
      cancel = reads.send({ url: this.url, headers, body, ...times }, receiver)
    }
    this.#transport
      .reads()
      .then(send)
      .catch(error => receiver.failed(error as Error))
    return reason => cancel(reason)
  }

  /** A request of 2026-07-28. */
  request(
    id: string,
    method: string,
    params: JsonObject & { _meta?: JsonObject },
    { answerMs, signal }: Pick<HttpAsk, 'answerMs' | 'signal'>,
  ): HttpAsk {
    const sent = { ...params, _meta: { ...params._meta, ...meta } }
    return {
      url: this.url,
      method: 'POST',
      headers: { ...statelessHeaders(method, params, revision), ...this.identity },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params: sent }),
      answerMs,
      signal,
    }
  }

  close(): void {
    this.#transport.close()
  }
}
