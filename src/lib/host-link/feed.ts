import type { Link } from './link.ts'

/** Something that has news for the server, and tells all of it anew after every welcome. */
export interface Feed {
  /** Called once for each welcomed link. Must not throw. */
  attach(link: Link): void
}

/**
 * Runs a loop at most once at a time; a wake while it runs makes it look once more. `turn` sends
 * what there is and must not reject.
 */
export class Pump {
  readonly #turn: (link: Link) => Promise<void>
  #link: Link | null = null
  #running: Link | null = null
  #again = false

  constructor(turn: (link: Link) => Promise<void>) {
    this.#turn = turn
  }

  /** From now on to this link. */
  attach(link: Link): void {
    this.#link = link
    this.wake()
  }

  wake(): void {
    const link = this.#link
    if (link === null || !link.open) return
    this.#again = true
    if (this.#running !== link) void this.#run(link)
  }

  async #run(link: Link): Promise<void> {
    this.#running = link
    // What is said in one go of the caller goes out together.
    await Promise.resolve()
    while (this.#again && link.open && this.#link === link) {
      this.#again = false
      await link.drained()
      if (link.open) await this.#turn(link)
    }
    if (this.#running === link) this.#running = null
  }
}
