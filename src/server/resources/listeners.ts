import type { Logger } from '../../lib/util/logger.ts'

/** Passes changes of resources on to clients. */
export interface ResourceListener {
  resourceUpdated(uri: string): void
  /** The application behind a scheme came or went, so reads of all its URIs may differ now. */
  schemeUpdated?(scheme: string): void
  listChanged(): void
}

/** Tells every listener; one that throws is logged and costs neither the others nor the caller. */
export class Listeners {
  readonly #log: Logger
  readonly #listeners = new Set<ResourceListener>()

  constructor(log: Logger) {
    this.#log = log
  }

  /** Returns the unsubscribe. */
  add(listener: ResourceListener): () => void {
    const own: ResourceListener = {
      resourceUpdated: uri => listener.resourceUpdated(uri),
      schemeUpdated: scheme => listener.schemeUpdated?.(scheme),
      listChanged: () => listener.listChanged(),
    }
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

  clear(): void {
    this.#listeners.clear()
  }

  resourceUpdated(uri: string): void {
    this.#each(listener => listener.resourceUpdated(uri))
  }

  schemeUpdated(scheme: string): void {
    this.#each(listener => listener.schemeUpdated?.(scheme))
  }

  listChanged(): void {
    this.#each(listener => listener.listChanged())
  }

  #each(tell: (listener: ResourceListener) => void): void {
    for (const listener of this.#listeners) {
      try {
        tell(listener)
      } catch (error) {
        this.#log.error({ err: error }, 'a listener of resource changes failed')
      }
    }
  }
}
