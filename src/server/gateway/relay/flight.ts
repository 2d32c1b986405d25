import { ServiceError } from '../../../lib/util/errors.ts'
import type { Reader } from '../../resources/producer.ts'

/** One request, and the readers that wait for it: it is cancelled when the last of them has left. */
export class Flight<Answer> {
  readonly answer: Promise<Answer>
  /** Resolves when the request has succeeded or failed. */
  readonly landed: Promise<void>
  readonly #cancelled = new AbortController()
  #readers = 0

  constructor(ask: (signal: AbortSignal) => Promise<Answer>) {
    this.answer = ask(this.#cancelled.signal)
    this.landed = this.answer.then(
      () => {},
      () => {},
    )
  }

  /** Its readers have all left: it fails. */
  get isAbandoned(): boolean {
    return this.#cancelled.signal.aborted
  }

  /** Returns the way to let a reader go that has its answer. */
  join(reader: Reader | undefined): () => void {
    this.#readers++
    const cancel = reader?.onLeave(() => {
      if (--this.#readers > 0) return
      this.#cancelled.abort(new ServiceError('cancelled', 'every reader has left'))
    })
    return () => {
      cancel?.()
      this.#readers--
    }
  }
}
