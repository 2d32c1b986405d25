import type { Completion } from './completion.ts'
import type { ResourceListener } from './listeners.ts'
import type { ListPage } from './listing.ts'
import { chain, type MaybePromise } from './maybe-promise.ts'
import type { Content, Reader, RelayedContents, Template } from './producer.ts'
import { isForWriters, type ServedResources } from './schemes.ts'

/** The resources without those that are for writers, which are as if they were not served. */
export class ReadersView implements ServedResources {
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
