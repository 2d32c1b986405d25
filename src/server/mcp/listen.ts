import { z } from 'zod'
import type { RequestId } from '../../lib/mcp/json-rpc.ts'
import { metaKeys } from '../../lib/mcp/request-metadata.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { JsonObject } from '../../lib/util/json.ts'
import type { ServedResources } from '../resources/served-resources.ts'
import type { Call } from './call.ts'
import { checkParams } from './errors.ts'
import { eventFrame, EventStream, type StreamEncoder } from './event-stream.ts'
import { serverInfo } from './instructions.ts'
import type { ServerLimits } from '../http/limits.ts'
import { limitReached, maxUrisPerClient, type SubscriptionHub } from './subscriptions.ts'

interface ListenParts {
  resources: ServedResources
  hub: SubscriptionHub
  limits: ServerLimits
}

/** What a client wants to be told. */
const paramsSchema = z.object({
  notifications: z.object({
    toolsListChanged: z.boolean().optional(),
    promptsListChanged: z.boolean().optional(),
    resourcesListChanged: z.boolean().optional(),
    resourceSubscriptions: z.array(z.string()).optional(),
  }),
})

type Filter = z.output<typeof paramsSchema>['notifications']

/** `subscriptions/listen`: the streams that the stateless transport has in place of sessions. */
export class ListenStreams {
  readonly #parts: ListenParts
  readonly #streams = new Map<EventStream, RequestId>()
  #closed = false

  constructor(parts: ListenParts) {
    this.#parts = parts
  }

  get size(): number {
    return this.#streams.size
  }

  /** Turns the answer into a stream; rejects, with nothing written, with what the client is told. */
  async listen(params: JsonObject, call: Call): Promise<null> {
    const { id, res } = call
    const { hub, limits } = this.#parts
    if (this.#streams.size >= limits.maxSessions) {
      const message = 'the server holds as many streams as it may; try again later'
      throw limitReached(message, 'listen_limit')
    }
    const filter = checkParams(paramsSchema, params).notifications
    const { resourceSubscriptions: uris = [], resourcesListChanged: wantsList = false } = filter
    if (uris.length > maxUrisPerClient) {
      throw limitReached(`a stream may be about ${maxUrisPerClient} URIs`)
    }
    const stream = new EventStream(res, listenEncoder(id, wantsList), limits)
    const forget = () => {
      hub.remove(stream)
      this.#streams.delete(stream)
    }
    res.on('close', forget)
    hub.add(stream)
    try {
      const failures: unknown[] = []
      const failed = (error: unknown) => failures.push(error)
      await Promise.all(uris.map(uri => this.#follow(stream, uri, call).catch(failed)))
      const honoured = Array.from(hub.topicsOf(stream).values(), topic => topic.uri)
      // What is refused costs the stream nothing else, unless the server is full.
      const isEmpty = honoured.length === 0 && !wantsList
      const failure = failures.find(isLimit) ?? (isEmpty ? failures[0] : undefined)
      if (failure !== undefined) throw failure
      if (this.#closed) throw limitReached('the server is stopping', 'server_stopping')
      if (res.destroyed) return null
      this.#streams.set(stream, id)
      stream.open(acknowledgement(id, filter, honoured))
      return null
    } catch (error) {
      forget()
      throw error
    }
  }

  /** Resolves when updates of the URI arrive, if it is ever announced. */
  async #follow(stream: EventStream, uri: string, call: Call): Promise<void> {
    const { resources, hub } = this.#parts
    const canonical = resources.assertSubscribable(uri, call)
    if (resources.pushes(canonical)) await hub.subscribe(stream, uri, canonical)
  }

  /** Ends every stream with its result: the server stops. */
  close(): void {
    this.#closed = true
    for (const [stream, id] of this.#streams) {
      const _meta = { [metaKeys.subscriptionId]: id, [metaKeys.serverInfo]: serverInfo }
      stream.end(eventFrame({ id, result: { resultType: 'complete', _meta } }))
    }
  }
}

function isLimit(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'limit_reached'
}

/** What the client is told first: its filter without the types and URIs that never come. */
function acknowledgement(id: RequestId, filter: Filter, honoured: readonly string[]): Buffer {
  const notifications = {
    ...(filter.resourcesListChanged && { resourcesListChanged: true }),
    ...(filter.resourceSubscriptions && { resourceSubscriptions: honoured }),
  }
  const params = { _meta: { [metaKeys.subscriptionId]: id }, notifications }
  return eventFrame({ method: 'notifications/subscriptions/acknowledged', params })
}

const subscription = `"_meta":{"${metaKeys.subscriptionId}":`
const listChangedHead = messageHead('notifications/resources/list_changed', subscription)

/**
 * The stateless transport tells every stream its own id, so an update is put together from a head that
 * is encoded once per topic and a tail that is encoded once per stream.
 */
function listenEncoder(id: RequestId, wantsListChanged: boolean): StreamEncoder {
  const tail = Buffer.from(`${JSON.stringify(id)}}}}\n\n`)
  // Most streams are about one URI, and in a burst the same update goes out many times.
  let last: { readonly head: Buffer; readonly bytes: Buffer } | null = null
  return {
    update(topic) {
      const head = topic.encoded('stateless', encodeHead)
      if (last?.head !== head) last = { head, bytes: Buffer.concat([head, tail]) }
      return last.bytes
    },
    listChanged: wantsListChanged ? Buffer.concat([listChangedHead, tail]) : null,
  }
}

function encodeHead(uri: string): Buffer {
  const params = `"uri":${JSON.stringify(uri)},${subscription}`
  return messageHead('notifications/resources/updated', params)
}

function messageHead(method: string, params: string): Buffer {
  return Buffer.from(
    `event: message\ndata: {"jsonrpc":"2.0","method":"${method}","params":{${params}`,
  )
}
