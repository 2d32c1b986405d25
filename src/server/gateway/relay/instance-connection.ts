import { Unreachable } from '../../../lib/mcp/bridge/bridge-errors.ts'
import { instanceHeader } from '../../../lib/instances/gateway-key.ts'
import { liveAppKey } from '../../../lib/mcp/call-meta.ts'
import { metaKeys, statelessHeaders } from '../../../lib/mcp/request-metadata.ts'
import { controllerWith } from '../../../lib/util/abort.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import { userAgent, version } from '../../../lib/util/version.ts'
import type { Reader, RelayedContents } from '../../resources/producer.ts'
import type { ServerLimits } from '../../http/limits.ts'
import { type LargeResult, resultOf } from './instance-answer.ts'
import { InstancePushes } from './instance-pushes.ts'
import { unreachable } from './relay-errors.ts'
import { SharedReads } from './shared-reads.ts'
import type { InstanceAnswer, InstanceRequest, InstanceTransport } from './transport.ts'

const revision = '2026-07-28'
const gatewayName = 'service-gateway'
const claims = { [metaKeys.protocolVersion]: revision, [metaKeys.clientCapabilities]: {} }

interface ConnectionParts {
  readonly instanceId: string
  readonly transport: InstanceTransport
  readonly limits: Pick<ServerLimits, 'instanceAnswerMs' | 'instanceSilenceMs'>
}

/** A request of a caller, which is passed on as it is. */
export interface RelayedCall {
  readonly method: string
  readonly params: JsonObject
  /** The first member of the result that is passed on. */
  readonly member: string
  /** What it is about, as clients of the gateway call it. */
  readonly about: string
  /** Of the program's own, such as that the answer is wanted as data, too. */
  readonly meta?: JsonObject
  /** The answer must begin within this time; default: `instanceAnswerMs`. */
  readonly answerMs?: number
}

/** The gateway's connection to one instance. */
export class InstanceConnection {
  readonly pushes: InstancePushes
  readonly #parts: ConnectionParts
  readonly #reads = new SharedReads()
  #lastId = 0

  constructor(parts: ConnectionParts) {
    this.#parts = parts
    this.pushes = new InstancePushes({
      listen: (uris, signal) => this.#listen(uris, signal),
      answerMs: parts.limits.instanceAnswerMs,
    })
  }

  /** The contents of a resource, which equal readers share. Rejects with a `ServiceError`. */
  read(uri: string, reader: Reader | undefined): Promise<RelayedContents> {
    const { name = '', version: clientVersion = '' } = reader?.client ?? {}
    const call = { method: 'resources/read', params: { uri }, member: 'contents', about: uri }
    return this.#reads.read(`${uri}\n${name}\n${clientVersion}`, reader, cancel =>
      this.call(call, reader?.client, cancel),
    )
  }

  /** The members of the result. Rejects with a `ServiceError`, or the reason of `cancel`. */
  call(
    call: RelayedCall,
    client: Reader['client'],
    cancel: AbortController,
  ): Promise<string | LargeResult> {
    const { transport, limits } = this.#parts
    const { instanceSilenceMs: silenceMs } = limits
    const id = String(++this.#lastId)
    const request = this.#request(id, call.method, call.params, { ...call.meta, client })
    return within(cancel, call.answerMs ?? limits.instanceAnswerMs, async until => {
      const answer = await transport.send(request, cancel.signal)
      until(silenceMs)
      return resultOf(answer, { ...call, id, silenceMs }, cancel.signal)
    })
  }

  /** Resolves when the answer begins; its end is for the caller. Rejects with a `ServiceError`. */
  download(
    method: string,
    path: string,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<InstanceAnswer> {
    const { instanceId, transport, limits } = this.#parts
    const sent = { ...headers, [instanceHeader]: instanceId }
    const cancel = controllerWith(signal)
    return within(cancel, limits.instanceAnswerMs, () =>
      transport.send({ method, path, headers: sent }, cancel.signal),
    )
  }

  close(): void {
    this.pushes.close()
    this.#parts.transport.close()
  }

  #listen(uris: string[], signal: AbortSignal): Promise<InstanceAnswer> {
    const notifications = { resourceSubscriptions: uris, resourcesListChanged: true }
    const request = this.#request(
      'listen',
      'subscriptions/listen',
      { notifications },
      {
        // The gateway itself is not shown as a client of the instance.
        [liveAppKey]: true,
      },
    )
    return this.#parts.transport.send(request, signal)
  }

  /** Nothing of the caller but method and params, and the name of its client. */
  #request(
    id: string,
    method: string,
    params: JsonObject,
    { client, ...meta }: JsonObject & { client?: Reader['client'] },
  ): InstanceRequest {
    const _meta = {
      ...meta,
      ...claims,
      [metaKeys.clientInfo]: client
        ? { name: client.name, version: client.version, via: gatewayName }
        : { name: gatewayName, version },
    }
    return {
      method: 'POST',
      path: '/mcp',
      headers: {
        ...statelessHeaders(method, params, revision),
        [instanceHeader]: this.#parts.instanceId,
        'User-Agent': userAgent,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }),
    }
  }
}

/** Runs a request, which is cancelled at the end of its time; `until` gives it more. */
async function within<Answer>(
  cancel: AbortController,
  answerMs: number,
  run: (until: (ms: number) => void) => Promise<Answer>,
): Promise<Answer> {
  const late = (why: string) => () => cancel.abort(unreachable(why))
  let timer = setTimeout(late('it does not answer'), answerMs)
  try {
    return await run(ms => {
      clearTimeout(timer)
      timer = setTimeout(late('it stopped answering'), ms)
    })
  } catch (error) {
    if (cancel.signal.aborted) throw cancel.signal.reason
    throw error instanceof Unreachable ? unreachable(error.message) : error
  } finally {
    clearTimeout(timer)
  }
}
