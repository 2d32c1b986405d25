import { ServiceError } from '../../../lib/util/errors.ts'
import type { Reader } from '../../resources/producer.ts'

/** A reader of a request. */
interface Joined {
  readonly hasLeft: boolean
  /** It has its answer. */
  release(): void
}

/** One request, and the readers that wait for it: it is cancelled when the last of them has left. */
export class Flight<Answer> {
  readonly answer: Promise<Answer>
  #readers = 0
  #reason: ServiceError | null = null
  #cancel: ((reason: ServiceError) => void) | null = null

  constructor(ask: (flight: Flight<Answer>) => Promise<Answer>) {
    this.answer = ask(this)
  }

  /** Its readers have all left: it fails. */
  get isAbandoned(): boolean {
    return this.#reason !== null
  }

  throwIfAbandoned(): void {
    if (this.#reason !== null) throw this.#reason
  }

  /** Calls `cancel` when its readers have all left: at once when they have already. */
  onAbandoned(cancel: (reason: ServiceError) => void): void {
    this.#cancel = cancel
    if (this.#reason !== null) cancel(this.#reason)
  }

  join(reader: Reader | undefined): Joined {
    let hasLeft = false
    this.#readers++
    const stopWatching = reader?.onLeave(() => {
      hasLeft = true
      if (--this.#readers > 0) return
      this.#reason = new ServiceError('cancelled', 'every reader has left')
      this.#cancel?.(this.#reason)
    })
    return {
      get hasLeft() {
        return hasLeft
      },
      release: () => {
        stopWatching?.()
        if (!hasLeft) this.#readers--
      },
    }
  }
}
