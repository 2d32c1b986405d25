import type { Completion } from './completion.ts'
import type { ListPage } from './listing.ts'
import type { ResourceListener } from './listeners.ts'
import type { MaybePromise } from './maybe-promise.ts'
import type { Content, Template } from './producer.ts'
import type { Reader } from './reader.ts'

/** What an endpoint serves, of an application or of a gateway: pages and contents out, changes on. */
export interface ServedResources {
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
  /** Would reading the URI change what others find? */
  changes(uri: unknown): boolean
  /** Do updates of the URI ever come? */
  pushes(uri: unknown): boolean
  /**
   * Values for a variable of a template, for what was typed so far; `resolved` are the variables
   * whose values were chosen. Rejects with `ResourceUriInvalid` for an unknown template or variable.
   */
  complete(
    ref: string,
    argument: string,
    value: string,
    resolved?: ReadonlyMap<string, string>,
  ): Promise<Completion>
  /** Returns the unsubscribe. */
  listen(listener: ResourceListener): () => void
}
