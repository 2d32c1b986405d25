/** The connected application, when it takes part in keeping the scene new. */
interface SceneSupplier {
  /** True once the server has the scene as the application shows it; false when it did not say. */
  refresh(): Promise<boolean>
  /** Whether a client follows the scene. */
  demand(isFollowed: boolean): void
}

/**
 * Lets an application without followers send few scenes, and asks it for the newest one before
 * a reader gets it.
 */
export class SceneDemand {
  readonly #followed = new Set<string>()
  #supplier: SceneSupplier | null = null
  /** The last question, and the one that waits for its answer. */
  #asking = Promise.resolve(false)
  #next: Promise<boolean> | null = null

  /** The URI (without its query) has its first subscriber, or none any more. */
  follow(uri: string, isFollowed: boolean): void {
    const before = this.#followed.size > 0
    if (isFollowed) this.#followed.add(uri)
    else this.#followed.delete(uri)
    const now = this.#followed.size > 0
    if (now !== before) this.#supplier?.demand(now)
  }

  /** Null: the application went, or takes no part. */
  supply(supplier: SceneSupplier | null): void {
    this.#supplier = supplier
    if (this.#followed.size === 0) supplier?.demand(false)
  }

  /** What is asked after the call counts. Null: no application can be asked. */
  refresh(): Promise<boolean> | null {
    if (this.#supplier === null) return null
    // The answer under way may have been made before the change that this reader expects.
    return (this.#next ??= this.#asking.then(() => {
      this.#next = null
      return (this.#asking = this.#supplier?.refresh() ?? Promise.resolve(false))
    }))
  }
}
