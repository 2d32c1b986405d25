import { z } from 'zod'
import type { RequestId } from '../../lib/mcp/json-rpc.ts'
import { metaKeys } from '../../lib/mcp/request-metadata.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { JsonObject } from '../../lib/util/json.ts'
import { ResourceUriInvalid } from '../resources/errors.ts'
import type { ServedResources } from '../resources/served-resources.ts'
import type { Call } from './call.ts'
import { firstIssue } from './errors.ts'
import { eventFrame, EventStream, type StreamEncoder } from './event-stream.ts'
import { maxUrisPerClient, type SubscriptionHub } from './subscriptions.ts'

/** The id is in every message of its stream, and kept for as long. */
const maxIdChars = 256

interface ListenParts {
  resources: ServedResources
  hub: SubscriptionHub
  /** `{ name, title, version }` */
  serverInfo: object
  limits: {
    readonly maxSessions: number
    readonly streamKeepAliveMs: number
    readonly streamStallMs: number
  }
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
      throw refused('listen_limit', message)
    }
    if (String(id).length > maxIdChars) {
      const message = `the id of subscriptions/listen must have at most ${maxIdChars} characters`
      throw new ResourceUriInvalid(message)
    }
    const parsed = paramsSchema.safeParse(params)
    if (!parsed.success) throw new ResourceUriInvalid(firstIssue(parsed.error))
    const filter = parsed.data.notifications
    const wantsListChanged = filter.resourcesListChanged === true
    const { wanted, failures } = this.#subscribable(filter.resourceSubscriptions ?? [], call)
    // A client that left while it was being authenticated has no stream to keep.
    if (res.destroyed) return null
    const stream = new EventStream(res, listenEncoder(id, wantsListChanged), limits)
    const forget = () => {
      hub.remove(stream)
      this.#streams.delete(stream)
    }
    res.on('close', forget)
    hub.add(stream)
    try {
      const opening = wanted.map(({ uri, canonical }) => hub.subscribe(stream, uri, canonical))
      const honoured: string[] = []
      for (const [index, opened] of (await Promise.allSettled(opening)).entries()) {
        const { uri = '', canonical = '' } = wanted[index] ?? {}
        if (opened.status === 'fulfilled') {
          honoured.push(uri)
          continue
        }
        // What another server refuses costs the stream nothing else.
        failures.push(opened.reason)
        hub.refused(stream, uri, canonical)
      }
      if (failures.length > 0 && honoured.length === 0 && !wantsListChanged) throw failures[0]
      if (this.#closed) throw refused('server_stopping', 'the server is stopping')
      if (res.destroyed) return null
      this.#streams.set(stream, id)
      stream.open(acknowledgement(id, filter, honoured))
      return null
    } catch (error) {
      forget()
      throw error
    }
  }

  /** The URIs that are ever announced, and the errors about instances that are gone. */
  #subscribable(uris: readonly string[], call: Call) {
    const { resources } = this.#parts
    if (new Set(uris).size > maxUrisPerClient) {
      throw refused('subscription_limit', `a stream may be about ${maxUrisPerClient} URIs`)
    }
    // Of several spellings of one resource the last one counts.
    const spellings = new Map<string, string>()
    const failures: unknown[] = []
    for (const uri of uris) {
      try {
        spellings.set(resources.assertSubscribable(uri, call), uri)
      } catch (error) {
        // A client that listens again, with the URIs that it had, keeps those that are left.
        const isGone = error instanceof ServiceError && error.data?.['reason'] === 'instance_gone'
        if (!isGone) throw error
        failures.push(error)
      }
    }
    const wanted = Array.from(spellings, ([canonical, uri]) => ({ uri, canonical }))
    return { wanted: wanted.filter(({ canonical }) => resources.pushes(canonical)), failures }
  }

  /** Ends every stream with its result: the server stops. */
  close(): void {
    this.#closed = true
    for (const [stream, id] of this.#streams) {
      const _meta = { [metaKeys.subscriptionId]: id, [metaKeys.serverInfo]: this.#parts.serverInfo }
      stream.end(eventFrame({ id, result: { resultType: 'complete', _meta } }))
    }
  }
}

function refused(reason: string, message: string): ServiceError {
  return new ServiceError('limit_reached', message, { data: { reason } })
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
