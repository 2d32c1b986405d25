import type { SceneState } from './scene/state.ts'
import type { MaybePromise } from './maybe-promise.ts'
import type {
  CompletionContext,
  CompletionValues,
  Content,
  Descriptor,
  Reader,
  RelayedContents,
  Template,
} from './producer.ts'
import type { Completion } from './completion.ts'
import type { ListPage } from './listing.ts'
import type { ResourceListener } from './listeners.ts'

/** Schemes that belong to the product: no custom producer may take one, no host push them. */
const reservedSchemes: ReadonlySet<string> = new Set([
  'scene',
  'capture',
  'audit',
  'artefact',
  'events',
  'gateway',
  'resources',
  'server',
  'ui',
  'instance',
])

/** Not served to callers who may change nothing. */
const writersSchemes: ReadonlySet<string> = new Set(['server'])

/** Read by polling: subscribing is accepted, no update ever comes (specification, "Events"). */
const polledSchemes: ReadonlySet<string> = new Set(['events', 'artefact', 'capture', 'resources'])

export function isReservedScheme(scheme: string): boolean {
  return reservedSchemes.has(scheme)
}

export function isForWriters(scheme: string): boolean {
  return writersSchemes.has(scheme)
}

export function isPolledScheme(scheme: string): boolean {
  return polledSchemes.has(scheme)
}

/** Whether the URI is made from the bytes behind it, which then never change. */
export function isContentAddressed(uri: unknown): boolean {
  return typeof uri === 'string' && uri.startsWith('artefact://')
}

/**
 * A scheme of the product's own that comes and goes while the server runs. Trusted, unlike a
 * `ResourceProducer`: what it returns is well-formed, its arrays and their entries are frozen,
 * and the identical array again means "unchanged".
 */
export interface SchemeSource {
  readonly scheme: string
  /** The resources known now, without waiting. Never throws. */
  list(): readonly Descriptor[]
  /** Likewise. */
  templates(): readonly Template[]
  /**
   * Throws or rejects with a `ServiceError` of a `resource_` code, which reaches the reader as it
   * is, `data` included; anything else is logged and becomes `producer_failed`. Once every reader
   * has left, the answer may be anything.
   */
  read(uri: string, reader?: Reader): MaybePromise<readonly Content[]>
  complete?(
    variable: string,
    prefix: string,
    context: CompletionContext,
  ): MaybePromise<CompletionValues>
}

/** Where a source hangs in the resource registry. */
export interface Attachment {
  /** The source lists something else now, or has other templates. */
  listChanged(): void
  /** The application behind the source came or went, so reads of all its URIs may differ now. */
  updated(): void
  /** The scheme is free again; more than once does nothing. */
  detach(): void
}

/** Whether a source or producer may take the scheme. */
export type SchemeState = 'free' | 'taken' | 'reserved'

/**
 * What an endpoint serves, of an application or of a gateway: pages and contents out, changes on.
 */
export interface ServedResources {
  /** What callers find who may change nothing. Absent: the same. */
  readonly forReaders?: ServedResources
  /** Absent: the server has none. Its revision and application cost no look at its text. */
  readonly scene?: Pick<SceneState, 'run' | 'current' | 'application' | 'asOfMs' | 'refreshed'>
  /** Throws (or rejects with) `ResourceUriInvalid` for a bad cursor. */
  page(cursor: unknown): MaybePromise<ListPage>
  /** Of all producers; the same array until one is added or changes. */
  templates(): readonly Template[]
  /**
   * Throws (or rejects with) a `ServiceError` of a `resource_` code. What takes time may be left
   * off when every reader of it has left; one that is not named waits to the end.
   */
  read(uri: unknown, reader?: Reader): MaybePromise<readonly Content[]>
  /** Returns the one spelling under which updates of the URI are announced, or throws. */
  assertSubscribable(uri: unknown): string
  /** The same for any URI, also of a scheme that went. Throws `ResourceUriInvalid` for no URI. */
  canonical(uri: unknown): string
  /** Whether reading the URI changes what others find. */
  changes(uri: unknown): boolean
  /** Whether updates of the URI ever come. */
  pushes(uri: unknown): boolean
  /**
   * Values for a variable of a template, for what was typed so far; `resolved` are the variables
   * whose values were chosen. Rejects with `ResourceUriInvalid` for an unknown template or
   * variable.
   */
  complete(
    ref: string,
    argument: string,
    value: string,
    resolved?: ReadonlyMap<string, string>,
  ): Promise<Completion>
  /**
   * The URI (without its query) has its first subscriber, or none any more. A promise is of the time
   * when its updates arrive.
   */
  followed?(uri: string, isFollowed: boolean): Promise<void> | void
  /** The contents of a resource of another server, passed on as they come; null: `read` has it. */
  relay?(uri: unknown, reader?: Reader): Promise<RelayedContents> | null
  /** Returns the unsubscribe. */
  listen(listener: ResourceListener): () => void
}
