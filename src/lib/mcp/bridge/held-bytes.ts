/** What is kept of all messages that are still on their way to the client, bounded. */
export class HeldBytes {
  readonly #most: number
  #now = 0

  constructor(most: number) {
    this.#most = most
  }

  get now(): number {
    return this.#now
  }

  /** A share of it, for one answer. */
  share(): HeldShare {
    let own = 0
    return {
      set: bytes => {
        const next = this.#now - own + bytes
        if (bytes > own && next > this.#most) return false
        this.#now = next
        own = bytes
        return true
      },
    }
  }
}

interface HeldShare {
  /** False, and nothing changed, when there is no room for so much. */
  set(bytes: number): boolean
}
