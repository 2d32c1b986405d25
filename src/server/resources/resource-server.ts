import type { ResourceLimits } from './limits.ts'
import { type Clock, systemClock, systemTimer, type Timer } from '../../lib/util/time.ts'
import { type Logger, silentLogger } from '../../lib/util/logger.ts'
import type { Completion } from './completion.ts'
import { ResourceNotFound, ResourceUriInvalid } from './errors.ts'
import { Listeners, type ResourceListener } from './listeners.ts'
import { Listing, type ListPage } from './listing.ts'
import { chain, type MaybePromise, recovered } from './maybe-promise.ts'
import type { Content, Reader, RelayedContents, Template } from './producer.ts'
import { createUriParser, type ResourceUri, maxUriChars } from './resource-uri.ts'
import { ResourceRoutes, type ResourceRoutesOptions } from './routes.ts'
import { isForWriters, type ServedResources } from './schemes.ts'

/** URIs whose parsed form is kept for the next request. */
const maxParsedUris = 256

interface ResourceServerOptions extends Omit<ResourceRoutesOptions, 'log'> {
  limits: ResourceLimits
  clock?: Clock
  log?: Logger
  timer?: Timer
  /** Where to look instead of a resource of this scheme that is not there. */
  whereToLook: (scheme: string) => string
}

/**
 * What every server of resources has in common: it parses each URI once and passes it to its
 * producer, cuts the listing into pages, and passes changes to the listeners.
 */
export class ResourceServer implements ServedResources {
  readonly forReaders: ServedResources = new ReadersView(this, uri => {
    const parsed = this.parsed(uri)
    if (!isForWriters(parsed.scheme)) return
    throw this.#guiding(new ResourceNotFound(parsed.text), parsed)
  })
  protected readonly routes: ResourceRoutes
  /**
   * Notifies the listeners: a resource changed (`uri` in its canonical spelling), or the listing
   * did, which is passed on at most once in `listChangedIntervalMs`.
   */
  protected readonly notify: Required<ResourceListener>
  readonly #whereToLook: (scheme: string) => string
  readonly #parseUri: ReturnType<typeof createUriParser>
  readonly #listing: Listing
  readonly #listeners: Listeners
  readonly #listChanges: Throttle
  readonly #stops: (() => void)[] = []

  constructor(options: ResourceServerOptions) {
    const { limits, clock = systemClock, log = silentLogger, timer = systemTimer } = options
    this.#whereToLook = options.whereToLook
    this.#parseUri = createUriParser(maxUriChars, maxParsedUris)
    this.routes = new ResourceRoutes({ ...options, log })
    this.#listing = new Listing(this.routes, limits)
    this.#listeners = new Listeners(log)
    this.#listChanges = new Throttle(
      limits.listChangedIntervalMs,
      () => this.#listeners.listChanged(),
      { clock, timer },
    )
    this.notify = {
      resourceUpdated: uri => this.#listeners.resourceUpdated(uri),
      schemeUpdated: scheme => this.#listeners.schemeUpdated(scheme),
      listChanged: () => this.#listChanges.request(),
    }
  }

  /** The URI taken apart, or throws `ResourceUriInvalid`. */
  protected parsed(uri: unknown): ResourceUri {
    const parsed = this.#parseUri(uri)
    if (!parsed.ok) throw new ResourceUriInvalid(parsed.failure)
    return parsed.value
  }

  /** `stop` runs when the server closes; it ends the source of the changes. */
  protected onClose(stop: () => void): void {
    this.#stops.push(stop)
  }

  /** The server stopped: no listener and no timer stays behind. */
  close(): void {
    for (const stop of this.#stops.splice(0)) stop()
    this.#listChanges.close()
    this.#listeners.clear()
  }

  page(cursor: unknown): MaybePromise<ListPage> {
    return this.#listing.page(cursor)
  }

  templates(): readonly Template[] {
    return this.routes.templates()
  }

  read(uri: unknown, reader?: Reader): MaybePromise<readonly Content[]> {
    const parsed = this.parsed(uri)
    return recovered(
      () => this.routes.read(parsed, reader),
      error => {
        throw this.#guiding(error, parsed)
      },
    )
  }

  assertSubscribable(uri: unknown): string {
    const parsed = this.parsed(uri)
    try {
      this.routes.assertServed(parsed)
    } catch (error) {
      throw this.#guiding(error, parsed)
    }
    return this.routes.canonical(parsed)
  }

  canonical(uri: unknown): string {
    return this.routes.canonical(this.parsed(uri))
  }

  changes(uri: unknown): boolean {
    const parsed = this.#parseUri(uri)
    return parsed.ok && this.routes.changes(parsed.value)
  }

  pushes(uri: unknown): boolean {
    const parsed = this.#parseUri(uri)
    return parsed.ok && this.routes.pushes(parsed.value)
  }

  complete(...asked: Parameters<ServedResources['complete']>): Promise<Completion> {
    return this.routes.complete(...asked)
  }

  listen(listener: ResourceListener): () => void {
    return this.#listeners.add(listener)
  }

  /** Says in the message, which clients show to a model, where to look for what is not there. */
  #guiding(error: unknown, { scheme }: ResourceUri): unknown {
    if (!(error instanceof ResourceNotFound)) return error
    const guide = `; ${this.#whereToLook(scheme)}`
    // The producer may throw the same error again.
    if (!error.message.endsWith(guide)) error.message += guide
    return error
  }
}

/**
 * At most one call in `intervalMs`; the last request of a burst is never lost, until it is closed.
 */
class Throttle {
  readonly #intervalMs: number
  readonly #run: () => void
  readonly #clock: Clock
  readonly #timer: Timer
  #lastMs = Number.NEGATIVE_INFINITY
  #cancel: (() => void) | undefined
  #closed = false

  constructor(
    intervalMs: number,
    run: () => void,
    { clock, timer }: { clock: Clock; timer: Timer },
  ) {
    this.#intervalMs = intervalMs
    this.#run = run
    this.#clock = clock
    this.#timer = timer
  }

  request(): void {
    if (this.#closed || this.#cancel !== undefined) return
    const waited = this.#clock.now() - this.#lastMs
    if (waited >= this.#intervalMs) {
      this.#fire()
      return
    }
    this.#cancel = this.#timer.after(this.#intervalMs - waited, () => {
      this.#cancel = undefined
      this.#fire()
    })
  }

  close(): void {
    this.#closed = true
    this.#cancel?.()
    this.#cancel = undefined
  }

  #fire(): void {
    this.#lastMs = this.#clock.now()
    this.#run()
  }
}

/** The resources without those that are for writers, which are as if they were not served. */
class ReadersView implements ServedResources {
  readonly #all: ServedResources
  readonly #assertVisible: (uri: unknown) => void
  readonly #pages = new WeakMap<ListPage, ListPage>()

  /** `assertVisible` throws for a hidden resource what is thrown for a scheme that is not served. */
  constructor(all: ServedResources, assertVisible: (uri: unknown) => void) {
    this.#all = all
    this.#assertVisible = assertVisible
  }

  get scene(): ServedResources['scene'] {
    return this.#all.scene
  }

  page(cursor: unknown): MaybePromise<ListPage> {
    return chain(this.#all.page(cursor), page => this.#visible(page))
  }

  templates(): readonly Template[] {
    return this.#all.templates()
  }

  read(uri: unknown, reader?: Reader): MaybePromise<readonly Content[]> {
    this.#assertVisible(uri)
    return this.#all.read(uri, reader)
  }

  relay(uri: unknown, reader?: Reader): Promise<RelayedContents> | null {
    return this.#all.relay?.(uri, reader) ?? null
  }

  assertSubscribable(uri: unknown): string {
    this.#assertVisible(uri)
    return this.#all.assertSubscribable(uri)
  }

  canonical(uri: unknown): string {
    return this.#all.canonical(uri)
  }

  changes(uri: unknown): boolean {
    return this.#all.changes(uri)
  }

  pushes(uri: unknown): boolean {
    return this.#all.pushes(uri)
  }

  complete(...asked: Parameters<ServedResources['complete']>): Promise<Completion> {
    return this.#all.complete(...asked)
  }

  listen(listener: ResourceListener): () => void {
    return this.#all.listen(listener)
  }

  /** The identical page for the identical page: it says "unchanged". */
  #visible(page: ListPage): ListPage {
    const isVisible = ({ uri }: { uri: string }) => !isForWriters(uri.slice(0, uri.indexOf(':')))
    const known = this.#pages.get(page)
    if (known !== undefined) return known
    const descriptors = page.descriptors.filter(isVisible)
    const isWhole = descriptors.length === page.descriptors.length
    const visible = isWhole
      ? page
      : Object.freeze({ ...page, descriptors: Object.freeze(descriptors) })
    if (Object.isFrozen(page)) this.#pages.set(page, visible)
    return visible
  }
}
