import type { ServerResponse } from 'node:http'
import type { Clock } from '../../../lib/util/clock.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import type { RequestId } from '../../../lib/mcp/json-rpc.ts'
import type { Limits } from '../../../lib/config/limits.ts'
import { ResourceUriInvalid } from '../../resources/errors.ts'
import type { ServedResources } from '../../resources/served-resources.ts'
import { EventStream } from '../event-stream.ts'
import type { GatheredWrites } from '../gathered-writes.ts'
import type { ServerIdentity } from '../identity.ts'
import type { RequestMessage } from '../json-rpc.ts'
import type { KeepAlive } from '../keep-alive.ts'
import type { SubscriptionHub } from '../subscriptions.ts'
import { type Filter, parseFilter } from './filter.ts'
import { acknowledgement, listenShape, streamResult } from './stream-shape.ts'

export interface ListenParts {
  registry: ServedResources
  hub: SubscriptionHub
  keepAlive: KeepAlive
  gathered: GatheredWrites
  identity: ServerIdentity
  clock: Clock
  limits: Pick<Limits, 'maxListenStreams' | 'maxListenIdChars' | 'maxSubscriptionsPerSession'>
}

/** One URI of a filter. */
interface Wanted {
  readonly uri: string
  readonly canonical: string
}

/** `subscriptions/listen`: the streams that the stateless era has in place of sessions. */
export class ListenStreams {
  readonly #parts: ListenParts
  readonly #open = new Map<EventStream, RequestId>()
  #closed = false

  constructor(parts: ListenParts) {
    this.#parts = parts
  }

  /** Turns the answer into a stream; throws, with nothing written, what the client is to be told. */
  listen(res: ServerResponse, { id, params }: Pick<RequestMessage, 'id' | 'params'>): void {
    const { hub, keepAlive, gathered, clock } = this.#parts
    this.#assertRoom(id)
    const { filter, wanted } = this.#wantedBy(params)
    // A client that left while it was being authenticated has no stream to keep.
    if (res.destroyed) return
    const shape = listenShape(id, filter.listChanged)
    const stream = new EventStream(res, shape, { gathered, now: () => clock.now() })
    hub.add(stream)
    try {
      for (const { uri, canonical } of wanted) hub.subscribe(stream, uri, canonical)
    } catch (error) {
      hub.remove(stream)
      throw error
    }
    this.#open.set(stream, id)
    const forget = keepAlive.add(stream)
    res.on('close', () => {
      forget()
      hub.remove(stream)
      this.#open.delete(stream)
    })
    stream.open(acknowledgement(id, honoured(filter, wanted)))
  }

  /** Ends every stream with its result: the server stops. */
  close(): void {
    this.#closed = true
    for (const [stream, id] of this.#open) stream.end(streamResult(id, this.#parts.identity))
  }

  #assertRoom(id: RequestId): void {
    const { maxListenStreams, maxListenIdChars } = this.#parts.limits
    if (this.#closed) throw refused('server_stopping', 'the server is stopping')
    if (this.#open.size >= maxListenStreams) {
      const message = 'the server holds as many streams as it may; try again later'
      throw refused('listen_limit', message)
    }
    // The id is in every message of the stream, and kept for as long.
    if (String(id).length > maxListenIdChars) {
      const message = `the id of subscriptions/listen must have at most ${maxListenIdChars} characters`
      throw new ResourceUriInvalid(message)
    }
  }

  /** The filter, and the URIs of it that are ever announced. */
  #wantedBy(params: JsonObject): { filter: Filter; wanted: readonly Wanted[] } {
    const { registry, limits } = this.#parts
    const parsed = parseFilter(params)
    if (!parsed.ok) throw new ResourceUriInvalid(parsed.failure)
    const filter = parsed.value
    const uris = filter.uris ?? []
    if (new Set(uris).size > limits.maxSubscriptionsPerSession) {
      const message = `a stream may be about ${limits.maxSubscriptionsPerSession} URIs`
      throw refused('subscription_limit', message)
    }
    // Of several spellings of one resource the last one counts.
    const spellings = new Map(uris.map(uri => [registry.assertSubscribable(uri), uri]))
    const wanted = Array.from(spellings, ([canonical, uri]) => ({ uri, canonical }))
    return { filter, wanted: wanted.filter(({ canonical }) => registry.pushes(canonical)) }
  }
}

/** What the acknowledgement says: types and URIs that never come are left out. */
function honoured({ listChanged, uris }: Filter, wanted: readonly Wanted[]): object {
  return {
    ...(listChanged ? { resourcesListChanged: true } : {}),
    ...(uris === null ? {} : { resourceSubscriptions: wanted.map(({ uri }) => uri) }),
  }
}

function refused(reason: string, message: string): ServiceError {
  return new ServiceError('limit_reached', message, { data: { reason } })
}
