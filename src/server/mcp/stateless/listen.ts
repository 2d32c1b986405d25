import type { McpLimits } from '../limits.ts'
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../../lib/util/time.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import type { RequestId } from '../../../lib/mcp/json-rpc.ts'
import { ResourceUriInvalid } from '../../resources/errors.ts'
import type { Reader } from '../../resources/producer.ts'
import type { ServedResources } from '../../resources/served-resources.ts'
import { eventFrame, EventStream, type StreamEncoder } from '../event-stream.ts'
import type { GatheredWrites } from '../send.ts'
import type { ServerIdentity } from '../request-context.ts'
import type { RequestMessage } from '../json-rpc.ts'
import type { KeepAlive } from '../keep-alive.ts'
import type { SubscriptionHub } from '../subscriptions.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import { metaKeys } from '../../../lib/mcp/request-metadata.ts'

/** Characters of the id of a `subscriptions/listen`, which is in every message of its stream. */
const maxListenIdChars = 256

interface ListenParts {
  registry: ServedResources
  hub: SubscriptionHub
  keepAlive: KeepAlive
  gathered: GatheredWrites
  identity: ServerIdentity
  clock: Clock
  limits: Pick<McpLimits, 'maxListenStreams' | 'maxSubscriptionsPerSession'>
}

/** One URI of a filter. */
interface Wanted {
  readonly uri: string
  readonly canonical: string
}

/** `subscriptions/listen`: the streams that the stateless transport has in place of sessions. */
export class ListenStreams {
  readonly #parts: ListenParts
  /** Also those that wait for another server. */
  readonly #streams = new Map<EventStream, { readonly id: RequestId; isOpen: boolean }>()
  #closed = false

  constructor(parts: ListenParts) {
    this.#parts = parts
  }

  /**
   * Turns the answer into a stream; rejects, with nothing written, with what the client is to be told.
   */
  async listen(
    res: ServerResponse,
    { id, params }: Pick<RequestMessage, 'id' | 'params'>,
    reader: Reader,
  ): Promise<void> {
    const { hub, gathered, clock } = this.#parts
    this.#assertSpace(id)
    const { filter, wanted, failures } = this.#wantedBy(params, reader)
    // A client that left while it was being authenticated has no stream to keep.
    if (res.destroyed) return
    const shape = listenShape(id, filter.listChanged)
    const stream = new EventStream(res, shape, { gathered, now: () => clock.now() })
    hub.add(stream)
    this.#streams.set(stream, { id, isOpen: false })
    const forget = () => {
      hub.remove(stream)
      this.#streams.delete(stream)
    }
    res.on('close', forget)
    try {
      const opening = wanted.map(({ uri, canonical }) => hub.subscribe(stream, uri, canonical))
      const outcomes = await Promise.allSettled(opening)
      // What another server refuses costs the stream nothing else.
      const left = wanted.filter(({ uri, canonical }, at) => {
        const outcome = outcomes[at]
        if (outcome?.status !== 'rejected') return true
        failures.push(outcome.reason)
        hub.refused(stream, uri, canonical)
        return false
      })
      if (failures.length > 0 && left.length === 0 && !filter.listChanged) throw failures[0]
      this.#begin(res, stream, acknowledgement(id, honoured(filter, left)))
    } catch (error) {
      forget()
      throw error
    }
  }

  #begin(res: ServerResponse, stream: EventStream, first: Buffer): void {
    const waiting = this.#streams.get(stream)
    if (res.destroyed || waiting === undefined) return
    if (this.#closed) throw refused('server_stopping', 'the server is stopping')
    waiting.isOpen = true
    res.on('close', this.#parts.keepAlive.add(stream))
    stream.open(first)
  }

  /** Ends every stream with its result: the server stops. */
  close(): void {
    this.#closed = true
    for (const [stream, { id, isOpen }] of this.#streams) {
      if (isOpen) stream.end(streamResult(id, this.#parts.identity))
    }
  }

  #assertSpace(id: RequestId): void {
    const { maxListenStreams } = this.#parts.limits
    if (this.#closed) throw refused('server_stopping', 'the server is stopping')
    if (this.#streams.size >= maxListenStreams) {
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
  #wantedBy(
    params: JsonObject,
    reader: Reader,
  ): { filter: Filter; wanted: readonly Wanted[]; failures: unknown[] } {
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
    const spellings = new Map<string, string>()
    const failures: unknown[] = []
    for (const uri of uris) {
      try {
        spellings.set(registry.assertSubscribable(uri, reader), uri)
      } catch (error) {
        if (!isGone(error)) throw error
        failures.push(error)
      }
    }
    const wanted = Array.from(spellings, ([canonical, uri]) => ({ uri, canonical }))
    return {
      filter,
      wanted: wanted.filter(({ canonical }) => registry.pushes(canonical)),
      failures,
    }
  }
}

/** A client that listens again, with the URIs that it had, keeps those that are left. */
function isGone(error: unknown): boolean {
  return error instanceof ServiceError && error.data?.['reason'] === 'instance_gone'
}

/** What the acknowledgement says: types and URIs that never come are left out. */
function honoured({ listChanged, uris }: Filter, wanted: Wanted[]): object {
  return {
    ...(listChanged ? { resourcesListChanged: true } : {}),
    ...(uris === null ? {} : { resourceSubscriptions: wanted.map(({ uri }) => uri) }),
  }
}

function refused(reason: string, message: string): ServiceError {
  return new ServiceError('limit_reached', message, { data: { reason } })
}

/** What a client wants to be told, as far as this server has it. */
interface Filter {
  readonly listChanged: boolean
  /** As written; null when the client asks for none. Not yet known to be URIs. */
  readonly uris: readonly string[] | null
}

const switches = ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged'] as const

/** The filter in the params of `subscriptions/listen`. The failure is a text for the client. */
function parseFilter({ notifications }: JsonObject): Result<Filter, string> {
  if (!isJsonObject(notifications)) return fail('"notifications" must be an object')
  const wrong = switches.find(name => !isSwitch(notifications[name]))
  if (wrong !== undefined) return fail(`"notifications.${wrong}" must be true or false`)
  const { resourcesListChanged, resourceSubscriptions: uris } = notifications
  if (uris !== undefined && !isTexts(uris)) {
    return fail('"notifications.resourceSubscriptions" must be an array of URIs')
  }
  return ok({ listChanged: resourcesListChanged === true, uris: uris ?? null })
}

function isSwitch(value: unknown): boolean {
  return value === undefined || typeof value === 'boolean'
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(each => typeof each === 'string')
}

/** The key under which a topic keeps the part of its encoding that all streams share. */
const key = 'stateless-sse'

const subscription = `"_meta":{"${metaKeys.subscriptionId}":`
const listChangedHead = Buffer.from(
  `event: message\ndata: {"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{${subscription}`,
)

/**
 * The stateless transport tells every stream its own id, so an update is put together from a head that is
 * encoded once per topic and a tail that is encoded once per stream.
 */
function listenShape(id: RequestId, wantsListChanged: boolean): StreamEncoder {
  const tail = Buffer.from(`${JSON.stringify(id)}}}}\n\n`)
  // Most streams are about one URI, and in a burst the same update goes out many times.
  let last: { readonly head: Buffer; readonly bytes: Buffer } | null = null
  return {
    update(topic) {
      const head = topic.encoded(key, encodeHead)
      if (last?.head !== head) last = { head, bytes: joined(head, tail) }
      return last.bytes
    },
    listChanged: wantsListChanged ? joined(listChangedHead, tail) : null,
  }
}

/** What the client is told first: the part of its filter that is honoured. */
function acknowledgement(id: RequestId, notifications: object): Buffer {
  return eventFrame(
    JSON.stringify({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { _meta: { [metaKeys.subscriptionId]: id }, notifications },
    }),
  )
}

/** What the client is told last, when the server ends the stream: the answer to its request. */
function streamResult(id: RequestId, { name, title, version }: ServerIdentity): Buffer {
  const _meta = { [metaKeys.subscriptionId]: id, [metaKeys.serverInfo]: { name, title, version } }
  return eventFrame(
    JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', _meta } }),
  )
}

function encodeHead(uri: string): Buffer {
  return Buffer.from(
    `event: message\ndata: {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":${JSON.stringify(uri)},${subscription}`,
  )
}

function joined(head: Buffer, tail: Buffer): Buffer {
  return Buffer.concat([head, tail], head.length + tail.length)
}
