import { ServiceError } from '../../lib/util/errors.ts'

/** URIs that one session, or one listen stream, may subscribe to. */
export const maxUrisPerClient = 1000

interface SubscriptionLimits {
  /** Of all clients. */
  readonly maxSubscriptions: number
  /** Default: `maxUrisPerClient`. */
  readonly maxPerClient?: number
}

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

/**
 * The subscribers of each URI. Knows no transport: a subscriber delivers or drops by itself, so
 * that a slow one delays neither the others nor the producer.
 */
export class SubscriptionHub {
  readonly #maxSubscriptions: number
  readonly #maxPerClient: number
  /** URI without query → the URIs subscribed under it, as written. */
  readonly #topics = new Map<string, Map<string, Topic>>()
  /**
   * Of each subscriber: canonical URI, query included → the topic in the spelling it chose last.
   */
  readonly #bySubscriber = new Map<Subscriber, Map<string, Topic>>()
  readonly #followed: Followed
  /** URIs without query whose updates do not arrive yet. */
  readonly #opening = new Map<string, Promise<void>>()
  #count = 0

  constructor(
    { maxSubscriptions, maxPerClient = maxUrisPerClient }: SubscriptionLimits,
    followed: Followed = () => {},
  ) {
    this.#maxSubscriptions = maxSubscriptions
    this.#maxPerClient = maxPerClient
    this.#followed = followed
  }

  /** Number of subscriptions, and of those who have one, for diagnostics. */
  get size(): { subscriptions: number; subscribers: number } {
    let subscribers = 0
    for (const topics of this.#bySubscriber.values()) if (topics.size > 0) subscribers++
    return { subscriptions: this.#count, subscribers }
  }

  /** From now on the subscriber hears of list changes. */
  add(subscriber: Subscriber): void {
    if (!this.#bySubscriber.has(subscriber)) this.#bySubscriber.set(subscriber, new Map())
  }

  /** By canonical URI, query included. */
  topicsOf(subscriber: Subscriber): ReadonlyMap<string, Topic> {
    return this.#bySubscriber.get(subscriber) ?? new Map()
  }

  /**
   * For a subscriber that was added: one that was removed meanwhile must not come back.
   * `uri` is announced as the client wrote it; `canonical`, without its query, is matched. The
   * same resource in another spelling replaces the earlier subscription. A promise is of the time
   * when updates arrive; it rejects when they never will, and the caller then unsubscribes.
   */
  subscribe(
    subscriber: Subscriber,
    uri: string,
    canonical: string = uri,
  ): Promise<void> | undefined {
    const own = this.#bySubscriber.get(subscriber)
    if (own === undefined) throw new ServiceError('session_ended', 'the session has ended')
    const before = own.get(canonical)
    if (before?.uri === uri) return this.#opening.get(before.base)
    const added = before === undefined ? 1 : 0
    if (own.size + added > this.#maxPerClient) {
      throw limitReached(`one client may subscribe to ${this.#maxPerClient} URIs at a time`)
    }
    if (this.#count + added > this.#maxSubscriptions) {
      throw limitReached('the server holds as many subscriptions as it may')
    }
    const base = withoutQuery(canonical)
    let family = this.#topics.get(base)
    let topic = family?.get(uri)
    const isFirst = family === undefined
    if (family === undefined) this.#topics.set(base, (family = new Map()))
    if (topic === undefined) family.set(uri, (topic = new Topic(uri, base)))
    topic.subscribers.add(subscriber)
    own.set(canonical, topic)
    this.#count++
    // The family never gets empty by another spelling: it would be given up and asked for again.
    if (before !== undefined) this.#release(before, subscriber)
    const opened = isFirst ? this.#followed(base, true) : undefined
    if (opened instanceof Promise) {
      const forget = () => {
        if (this.#opening.get(base) === opening) this.#opening.delete(base)
      }
      const opening = opened.finally(forget)
      // Each subscriber hears of a failure by the promise that it was given.
      opening.catch(() => {})
      this.#opening.set(base, opening)
    }
    return this.#opening.get(base)
  }

  /**
   * In any spelling. Returns the one that was subscribed; null: there was no such subscription. The
   * first digits of an id may name another resource than at the time of the subscription: then `uri`
   * as it was written counts.
   */
  unsubscribe(subscriber: Subscriber, canonical: string, uri = canonical): string | null {
    const own = this.#bySubscriber.get(subscriber)
    if (own === undefined) return null
    const written = () => [...own].find(([, topic]) => topic.uri === uri)
    const known = own.get(canonical)
    const [key, topic] = known === undefined ? (written() ?? []) : [canonical, known]
    if (key === undefined || topic === undefined) return null
    own.delete(key)
    this.#release(topic, subscriber)
    return topic.uri
  }

  /** Gives up what was refused, unless it was subscribed in another spelling since. */
  refused(subscriber: Subscriber, uri: string, canonical: string): void {
    if (this.#bySubscriber.get(subscriber)?.get(canonical)?.uri !== uri) return
    this.unsubscribe(subscriber, canonical)
  }

  /** Forgets the subscriber and all it subscribed to. */
  remove(subscriber: Subscriber): void {
    const topics = this.#bySubscriber.get(subscriber)?.values() ?? []
    for (const topic of topics) this.#release(topic, subscriber)
    this.#bySubscriber.delete(subscriber)
  }

  /** Notifies every subscriber of the URI, with or without a query. */
  resourceUpdated(uri: string): void {
    const family = this.#topics.get(withoutQuery(uri))
    if (family === undefined) return
    for (const topic of family.values()) {
      for (const subscriber of topic.subscribers) subscriber.resourceUpdated(topic)
    }
  }

  /** Notifies every subscriber of a URI of the scheme. */
  schemeUpdated(scheme: string): void {
    for (const base of this.#topics.keys()) {
      if (base.startsWith(`${scheme}:`)) this.resourceUpdated(base)
    }
  }

  listChanged(): void {
    for (const subscriber of this.#bySubscriber.keys()) subscriber.listChanged()
  }

  #release(topic: Topic, subscriber: Subscriber): void {
    if (!topic.subscribers.delete(subscriber)) return
    this.#count--
    if (topic.subscribers.size > 0) return
    const family = this.#topics.get(topic.base)
    family?.delete(topic.uri)
    if (family?.size !== 0) return
    this.#topics.delete(topic.base)
    this.#opening.delete(topic.base)
    void this.#followed(topic.base, false)
  }
}

function withoutQuery(uri: string): string {
  const end = uri.indexOf('?')
  return end === -1 ? uri : uri.slice(0, end)
}

function limitReached(message: string): ServiceError {
  return new ServiceError('limit_reached', message, { data: { reason: 'subscription_limit' } })
}
