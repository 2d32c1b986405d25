import type { Reader } from '../../resources/producer.ts'

/** A reader that leaves when the caller does, or when what it reads for is over. */
export class Departure implements Reader {
  readonly #waiting = new Set<() => void>()
  readonly #release: () => void
  #hasLeft = false

  constructor(caller: Reader | undefined) {
    this.#release = caller?.onLeave(() => this.leave()) ?? (() => {})
  }

  onLeave(left: () => void): () => void {
    if (this.#hasLeft) left()
    else this.#waiting.add(left)
    return () => void this.#waiting.delete(left)
  }

  /** The caller is not watched any more. */
  release(): void {
    this.#release()
  }

  leave(): void {
    this.#hasLeft = true
    this.#release()
    for (const left of this.#waiting) left()
  }
}
