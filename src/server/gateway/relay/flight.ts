import { ServiceError } from '../../../lib/util/errors.ts'
import type { Reader } from '../../resources/producer.ts'

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

  /** Calls `cancel` when its readers have all left: at once when they have already. */
  onAbandoned(cancel: (reason: ServiceError) => void): void {
    this.#cancel = cancel
    if (this.#reason !== null) cancel(this.#reason)
  }

  /** Returns the way to let a reader go that has its answer. */
  join(reader: Reader | undefined): () => void {
    this.#readers++
    const stay = reader?.onLeave(() => {
      if (--this.#readers > 0) return
      this.#reason = new ServiceError('cancelled', 'every reader has left')
      this.#cancel?.(this.#reason)
    })
    return () => {
      stay?.()
      this.#readers--
    }
  }
}
