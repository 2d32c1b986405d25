/** Caps the memory of all messages that the client has not read yet. */
export class ByteBudget {
  readonly #maxBytes: number
  #usedBytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Opens the share of one answer. */
  share(): BudgetShare {
    let own = 0
    return {
      set: bytes => {
        const next = this.#usedBytes - own + bytes
        if (bytes > own && next > this.#maxBytes) return false
        this.#usedBytes = next
        own = bytes
        return true
      },
    }
  }
}

interface BudgetShare {
  /** Sets the size of the share. Returns false and changes nothing when the budget is spent. */
  set(bytes: number): boolean
}
