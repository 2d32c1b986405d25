import type { Limits } from '../../lib/config/limits.ts'
import { type Named, namesId, selectInstances } from '../../lib/instances/select-instance.ts'
import { publicMessage, ServiceError } from '../../lib/util/errors.ts'
import { systemTimer, type Timer } from '../../lib/util/time.ts'
import { type Logger, silentLogger } from '../../lib/util/logger.ts'
import { producerFailure, ResourceNotFound, ResourceUriInvalid } from './errors.ts'
import { Listing, type ListPage } from './listing.ts'
import type { Content, Descriptor, Reader, RelayedContents, Template } from './producer.ts'
import {
  normaliseUri,
  parseInstanceUri,
  parseResourceUri,
  type ResourceUri,
} from './resource-uri.ts'
import type { SceneState } from './scene/state.ts'
import type { SchemeProducer } from './scheme-producer.ts'
import { polledSchemes } from './schemes.ts'

interface ServedResourcesOptions {
  /** By scheme, in the order of the listing. */
  producers: Record<string, SchemeProducer>
  scene?: SceneState
  /** Where to look instead of a resource that is not there. */
  notFoundHint: string
  /** The instance that serves them, whose name in a URI or a tool call is accepted. */
  instance?: () => Named
  limits: Pick<Limits, 'pageSize'>
  log?: Logger
  timer?: Timer
}

/** Listeners hear of a changed listing at most this often. */
const listChangedIntervalMs = 1000

/** URIs that are kept taken apart. */
const maxParsed = 64

/** Told what changes in the resources. Must not throw. */
export interface ResourceListener {
  /** `uri`: in its canonical spelling. */
  resourceUpdated?(uri: string): void
  /** The application behind a scheme came or went, so reads of all its URIs may differ now. */
  schemeUpdated?(scheme: string): void
  listChanged?(): void
}

/** The table of producers behind an endpoint: pages and contents out, changes on. */
export class ServedResources {
  /** Undefined: the server has no scene. */
  readonly scene: SceneState | undefined
  protected readonly log: Logger
  protected readonly timer: Timer
  protected readonly producers: Map<string, SchemeProducer>
  readonly #notFoundHint: string
  readonly #listing: Listing
  readonly #listeners = new Set<ResourceListener>()
  readonly #stops: (() => void)[] = []
  /** Until it is over, changes of the listing wait; null: the next one is told at once. */
  #cancelListPause: (() => void) | null = null
  #isListChangeTold = true
  readonly #instance: (() => Named) | undefined
  /** URIs that were taken apart: one request needs it more than once, and clients ask again. */
  readonly #parsed = new Map<unknown, ResourceUri>()
  /** Contents under the last address of this instance, by those in its own spelling. */
  readonly #echoed = new WeakMap<readonly Content[], readonly Content[]>()

  constructor(options: ServedResourcesOptions) {
    const { log = silentLogger, timer = systemTimer } = options
    this.producers = new Map(Object.entries(options.producers))
    this.scene = options.scene
    this.#instance = options.instance
    this.#notFoundHint = options.notFoundHint
    this.log = log
    this.#listing = new Listing(this.producers, options.limits.pageSize, log)
    this.timer = timer
  }

  /** One page of the listing. Rejects with `ResourceUriInvalid` for an invalid cursor. */
  page(cursor: string | undefined): Promise<ListPage> {
    return this.#listing.page(cursor)
  }

  /** What a model is shown first of what there is, though it is not listed. */
  first(reader: Reader): Descriptor[] {
    return [...this.producers.values()].flatMap(producer => producer.first?.(reader) ?? [])
  }

  templates(): Template[] {
    return [...this.producers.values()].flatMap(producer => producer.templates?.() ?? [])
  }

  /**
   * Returns what is known at once without a promise. Throws or rejects with a `ServiceError` of a
   * `resource_` code. What takes time may be left off when every reader of it has left.
   */
  read(uri: unknown, reader?: Reader): readonly Content[] | Promise<readonly Content[]> {
    const parsed = this.parsed(uri)
    const failed = (error: unknown): never => {
      throw this.#forReader(error, parsed, uri)
    }
    const echo = (contents: readonly Content[]) =>
      uri === parsed.text ? contents : this.#echo(contents, parsed.text, String(uri))
    try {
      const contents = this.#producerOf(parsed, uri, reader).read(parsed, reader)
      return contents instanceof Promise ? contents.then(echo).catch(failed) : echo(contents)
    } catch (error) {
      return failed(error)
    }
  }

  /** The result of another server, passed on as it comes; null: `read` has the contents. */
  relay(uri: unknown, reader?: Reader): Promise<RelayedContents> | null {
    const parsed = this.parsed(uri)
    return this.producers.get(parsed.scheme)?.relay?.(parsed, reader) ?? null
  }

  /**
   * Any well-formed URI of a served scheme: the resource may come later. Returns the one spelling
   * under which its updates are announced, or throws.
   */
  assertSubscribable(uri: unknown, reader?: Reader): string {
    const parsed = this.parsed(uri)
    try {
      this.#producerOf(parsed, uri, reader).checkParameters?.(parsed, reader)
    } catch (error) {
      throw this.#forReader(error, parsed, uri)
    }
    return this.producers.get(parsed.scheme)?.canonical?.(parsed) ?? normaliseUri(parsed.text)
  }

  /** Whether updates of the URI ever come. */
  pushes(uri: unknown): boolean {
    const parsed = this.parsed(uri)
    const producer = this.producers.get(parsed.scheme)
    return producer?.pushes?.(parsed) ?? !polledSchemes.has(parsed.scheme)
  }

  /**
   * Values for a variable of a template, for what was typed so far; `resolved` are the variables
   * whose values were chosen. Rejects with `ResourceUriInvalid` for an unknown template.
   */
  async complete(
    uriTemplate: string,
    variable: string,
    prefix: string,
    resolved: ReadonlyMap<string, string> = new Map(),
  ): Promise<Completion> {
    const producer = this.producers
      .values()
      .find(each => each.templates?.().some(template => template.uriTemplate === uriTemplate))
    if (producer === undefined) {
      throw new ResourceUriInvalid('no such resource template; resources/templates/list has them')
    }
    try {
      const { complete } = producer
      if (complete !== undefined) return completion(await complete.call(producer, variable, prefix))
      const listed = (await producer.list?.()) ?? []
      return completion(listedValues(listed, uriTemplate, variable, prefix, resolved))
    } catch (error) {
      this.log.warn({ err: error, uriTemplate, variable }, 'completion failed')
      return completion([])
    }
  }

  /**
   * The URI (without its query) has its first subscriber, or none any more. A promise is of the time
   * when its updates arrive.
   */
  followed(uri: string, isFollowed: boolean): Promise<void> | void {
    const scheme = uri.slice(0, uri.indexOf(':'))
    return this.producers.get(scheme)?.follow?.(uri, isFollowed)
  }

  /** Returns the unsubscribe. */
  listen(listener: ResourceListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Tells the listeners that a resource changed; `uri` in its canonical spelling. */
  updated(uri: string): void {
    for (const listener of this.#listeners) listener.resourceUpdated?.(uri)
  }

  /** Tells them that reads of all URIs of the scheme may differ now. */
  schemeUpdated(scheme: string): void {
    for (const listener of this.#listeners) listener.schemeUpdated?.(scheme)
  }

  /** Tells them that the listing or the templates are others now, at most once a second. */
  listChanged(): void {
    this.#isListChangeTold = false
    if (this.#cancelListPause === null) this.#notifyListChanged()
  }

  /** `stop` runs when the server closes; it ends a source of changes. */
  onClose(stop: () => void): void {
    this.#stops.push(stop)
  }

  /** The server stopped: no listener and no timer stays behind. */
  close(): void {
    for (const stop of this.#stops.splice(0)) stop()
    this.#cancelListPause?.()
    // None is told any more.
    this.#cancelListPause = () => {}
    this.#listeners.clear()
  }

  /** `<scheme>://<rest>` for `instance://<this instance>/<scheme>/<rest>`; any other URI as it is. */
  own<Uri>(uri: Uri): Uri | string {
    if (this.#instance === undefined || typeof uri !== 'string') return uri
    const known = this.#parsed.get(uri)
    if (known !== undefined) return known.text
    const parsed = parseInstanceUri(uri)
    return parsed !== null && namesId(this.#instance(), parsed.selector) ? parsed.inner : uri
  }

  /** Whether the word names this instance: its id, its kind, its name or its document. */
  isNamed(word: string): boolean {
    return this.#instance !== undefined && selectInstances([this.#instance()], word).length === 1
  }

  /** The URI taken apart in its own spelling, or throws `ResourceUriInvalid`. */
  protected parsed(uri: unknown): ResourceUri {
    const known = this.#parsed.get(uri)
    if (known !== undefined) return known
    const parsed = parseResourceUri(this.own(uri))
    if (!parsed.ok) throw new ResourceUriInvalid(parsed.failure)
    if (this.#parsed.size >= maxParsed) this.#parsed.clear()
    this.#parsed.set(uri, parsed.value)
    return parsed.value
  }

  /** The contents under the address that was asked for. The same contents give the same again. */
  #echo(contents: readonly Content[], own: string, asked: string): readonly Content[] {
    const known = this.#echoed.get(contents)
    if (known?.[0]?.uri === asked) return known
    const echoed = Object.freeze(
      // A gateway looks for the address in the beginning.
      contents.map(({ uri, ...body }) => ({ uri: uri === own ? asked : uri, ...body })),
    )
    if (Object.isFrozen(contents)) this.#echoed.set(contents, echoed)
    return echoed
  }

  #notifyListChanged(): void {
    this.#cancelListPause = null
    if (this.#isListChangeTold) return
    this.#isListChangeTold = true
    const pauseIsOver = () => this.#notifyListChanged()
    this.#cancelListPause = this.timer.after(listChangedIntervalMs, pauseIsOver)
    for (const listener of this.#listeners) listener.listChanged?.()
  }

  #producerOf({ scheme }: ResourceUri, asked: unknown, reader: Reader | undefined): SchemeProducer {
    const producer = this.producers.get(scheme)
    // Who else is connected is not shown to callers who may only read.
    const isHidden = scheme === 'server' && reader?.isReadOnly === true
    if (producer === undefined || isHidden) throw new ResourceNotFound(String(asked))
    return producer
  }

  /**
   * Errors of a resource reach the reader (a damaged artefact was logged by its store); anything
   * else is logged and hidden. The message of "not found", which clients show to a model, says where
   * to look instead, and its data names the URI.
   */
  #forReader(error: unknown, { scheme, text }: ResourceUri, asked: unknown): ServiceError {
    if (error instanceof ServiceError) {
      const { code, hint } = error
      if (code === 'resource_not_found') {
        const data = { ...error.data, uri: asked }
        const where = error instanceof ResourceNotFound ? `; ${this.#notFoundHint}` : ''
        return new ServiceError(code, error.message + where, { hint, data })
      }
      const isTold = code === 'artefact_corrupt' || code === 'scope_insufficient'
      if (isTold || code.startsWith('resource_')) return error
    }
    this.log.error({ err: error, scheme, uri: text }, 'resource read failed')
    if (error instanceof ServiceError && error.code === 'storage_unavailable') {
      const data = { reason: error.code }
      return new ServiceError('resource_failed', publicMessage(error), { data })
    }
    return producerFailure(scheme, 'producer_failed')
  }
}

interface Completion {
  readonly values: readonly string[]
  /** Present when more values are known. */
  readonly hasMore?: true
}

/** The protocol allows no more in one answer. */
const maxCompletions = 100

function completion(found: readonly string[]): Completion {
  const values = found.slice(0, maxCompletions)
  return values.length < found.length ? { values, hasMore: true } : { values }
}

/** What stands in the place of the variable in listed URIs that begin as the template does. */
function listedValues(
  listed: readonly Descriptor[],
  uriTemplate: string,
  variable: string,
  typed: string,
  resolved: ReadonlyMap<string, string>,
): readonly string[] {
  const [before = ''] = uriTemplate.split(`{${variable}}`)
  const start = before.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(resolved.get(name) ?? ''),
  )
  const values = listed
    .filter(({ uri }) => uri.startsWith(start))
    .map(({ uri }) => decodeURIComponent(uri.slice(start.length).split(/[/?#]/, 1).join()))
    .filter(value => value !== '' && value.startsWith(typed))
  return [...new Set(values)]
}
