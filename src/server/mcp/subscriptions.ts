import { ServiceError } from '../../lib/util/errors.ts'

/** URIs that one session, or one listen stream, may subscribe to. */
export const maxUrisPerClient = 1000

/** One URI as subscribed, with its encodings kept so that an update is serialised once. */
export class Topic {
  readonly uri: string
  /** Its canonical form without query: what an update names. */
  readonly base: string
  readonly subscribers = new Set<Subscriber>()
  readonly #encodings = new Map<string, Buffer>()

  constructor(uri: string, base: string) {
    this.uri = uri
    this.base = base
  }

  /** The update in the given wire shape; `encode` runs once per topic and shape. */
  encoded(shape: string, encode: (uri: string) => Buffer): Buffer {
    let bytes = this.#encodings.get(shape)
    if (bytes === undefined) {
      bytes = encode(this.uri)
      this.#encodings.set(shape, bytes)
    }
    return bytes
  }
}

/** A receiver of updates: a session's stream or a listen stream. Must never throw nor block. */
export interface Subscriber {
  resourceUpdated(topic: Topic): void
  listChanged(): void
}

/**
 * Told of the first subscriber of a URI (without its query), and of the last gone. A promise is of
 * the time when updates arrive.
 */
type Followed = (uri: string, isFollowed: boolean) => Promise<void> | void

/** The URIs subscribed that differ in their query alone. */
interface Family {
  /** By URI as written. */
  readonly topics: Map<string, Topic>
  /** Settles when their updates arrive, or never will. Undefined: they do. */
  opening: Promise<void> | undefined
}

/**
 * The subscribers of each URI. Knows no transport: a subscriber delivers or drops by itself, so
 * that a slow one delays neither the others nor the producer.
 */
export class SubscriptionHub {
  readonly #maxSubscriptions: number
  readonly #followed: Followed
  /** By canonical URI without query. */
  readonly #families = new Map<string, Family>()
  /** Of each subscriber, by URI as written. */
  readonly #bySubscriber = new Map<Subscriber, Map<string, Topic>>()
  #size = 0

  /** `maxSubscriptions`: of all clients. */
  constructor(maxSubscriptions: number, followed: Followed = () => {}) {
    this.#maxSubscriptions = maxSubscriptions
    this.#followed = followed
  }

  /** Number of subscriptions. */
  get size(): number {
    return this.#size
  }

  /** From now on the subscriber hears of list changes. */
  add(subscriber: Subscriber): void {
    this.#bySubscriber.set(subscriber, new Map())
  }

  /** By URI as written. */
  topicsOf(subscriber: Subscriber): ReadonlyMap<string, Topic> {
    return this.#bySubscriber.get(subscriber) ?? new Map()
  }

  /**
   * For a subscriber that was added: one that was removed meanwhile must not come back.
   * `uri` is announced as the client wrote it; `canonical`, without its query, is matched. A promise
   * is of the time when updates arrive; it rejects when they never will, and the subscription has
   * ended then.
   */
  subscribe(
    subscriber: Subscriber,
    uri: string,
    canonical: string = uri,
  ): Promise<void> | undefined {
    const own = this.#bySubscriber.get(subscriber)
    if (own === undefined) throw new Error('the subscriber was removed')
    const topic = own.get(uri) ?? this.#take(subscriber, own, uri, withoutQuery(canonical))
    return this.#families.get(topic.base)?.opening?.catch(error => {
      this.unsubscribe(subscriber, uri)
      throw error
    })
  }

  #take(subscriber: Subscriber, own: Map<string, Topic>, uri: string, base: string): Topic {
    if (own.size >= maxUrisPerClient) {
      throw limitReached(`one client may subscribe to ${maxUrisPerClient} URIs at a time`)
    }
    if (this.#size >= this.#maxSubscriptions) {
      throw limitReached('the server holds as many subscriptions as it may')
    }
    const known = this.#families.get(base)
    const family: Family = known ?? { topics: new Map(), opening: undefined }
    const topic = family.topics.get(uri) ?? new Topic(uri, base)
    this.#families.set(base, family)
    family.topics.set(uri, topic)
    topic.subscribers.add(subscriber)
    own.set(uri, topic)
    this.#size++
    const opened = known === undefined ? this.#followed(base, true) : undefined
    if (opened instanceof Promise) {
      family.opening = opened.finally(() => (family.opening = undefined))
    }
    return topic
  }

  /** Returns whether there was such a subscription. */
  unsubscribe(subscriber: Subscriber, uri: string): boolean {
    const own = this.#bySubscriber.get(subscriber)
    const topic = own?.get(uri)
    if (topic === undefined) return false
    own?.delete(uri)
    this.#release(topic, subscriber)
    return true
  }

  /** Forgets the subscriber and all it subscribed to. */
  remove(subscriber: Subscriber): void {
    for (const topic of this.topicsOf(subscriber).values()) this.#release(topic, subscriber)
    this.#bySubscriber.delete(subscriber)
  }

  /** Notifies every subscriber of the URI, with or without a query. */
  resourceUpdated(uri: string): void {
    const family = this.#families.get(withoutQuery(uri))
    if (family === undefined) return
    for (const topic of family.topics.values()) {
      for (const subscriber of topic.subscribers) subscriber.resourceUpdated(topic)
    }
  }

  /** Notifies every subscriber of a URI of the scheme. */
  schemeUpdated(scheme: string): void {
    for (const base of this.#families.keys()) {
      if (base.startsWith(`${scheme}:`)) this.resourceUpdated(base)
    }
  }

  listChanged(): void {
    for (const subscriber of this.#bySubscriber.keys()) subscriber.listChanged()
  }

  #release(topic: Topic, subscriber: Subscriber): void {
    if (!topic.subscribers.delete(subscriber)) return
    this.#size--
    if (topic.subscribers.size > 0) return
    const topics = this.#families.get(topic.base)?.topics
    topics?.delete(topic.uri)
    if (topics?.size !== 0) return
    this.#families.delete(topic.base)
    void this.#followed(topic.base, false)
  }
}

function withoutQuery(uri: string): string {
  const end = uri.indexOf('?')
  return end === -1 ? uri : uri.slice(0, end)
}

/** `reason`: which limit, for programs. */
export function limitReached(message: string, reason = 'subscription_limit'): ServiceError {
  return new ServiceError('limit_reached', message, { data: { reason } })
}
