import { controllerWith, onAbort } from '../../../lib/util/abort.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Reader, RelayedContents } from '../../resources/producer.ts'
import { LargeResult } from './instance-answer.ts'

type Ask = (cancel: AbortController) => Promise<string | LargeResult>

/**
 * Readers of one resource share a request. Those that arrive while it is open share the next one,
 * because the resource may have changed since.
 */
export class SharedReads {
  /** For each key the open request, and the one that follows it. */
  readonly #flights: { readonly key: string; readonly flight: Flight }[] = []

  /** `ask` sends one request, which `cancel` ends. Rejects as it does, or with `cancelled`. */
  async read(key: string, reader: Reader | undefined, ask: Ask): Promise<RelayedContents> {
    const flight = this.#flight(key, ask)
    const leave = flight.join(reader?.signal)
    const answer = await flight.answer
    if (reader?.signal.aborted === true) throw new ServiceError('cancelled', 'the reader has left')
    if (answer instanceof LargeResult && !answer.take()) {
      // Too large to share: every further reader asks for itself.
      leave()
      return ask(controllerWith(reader?.signal))
    }
    if (!(answer instanceof LargeResult)) leave()
    return answer
  }

  #flight(key: string, ask: Ask): Flight {
    const [current, ...others] = this.#flights.filter(each => each.key === key)
    const next = others.find(each => !each.flight.isAbandoned)
    if (next !== undefined) return next.flight
    const flight = new Flight(current?.flight, ask)
    const entry = { key, flight }
    this.#flights.push(entry)
    const remove = (): void => void this.#flights.splice(this.#flights.indexOf(entry), 1)
    flight.answer.then(remove, remove)
    return flight
  }
}

/** One request with the readers that wait for it. It is cancelled when the last of them has left. */
class Flight {
  readonly answer: Promise<string | LargeResult>
  readonly #cancel = new AbortController()
  #readers = 0

  constructor(before: Flight | undefined, ask: Ask) {
    const sent = async () => {
      this.#cancel.signal.throwIfAborted()
      return ask(this.#cancel)
    }
    // Those that wait for an instance that hangs have waited enough.
    const failed = (error: ServiceError) => {
      if (error.data?.reason === 'instance_unreachable') throw error
      return sent()
    }
    this.answer = before === undefined ? ask(this.#cancel) : before.answer.then(sent, failed)
  }

  get isAbandoned(): boolean {
    return this.#cancel.signal.aborted
  }

  /** Returns what to call when the reader has its answer. */
  join(signal: AbortSignal | undefined): () => void {
    this.#readers++
    const stopWatching = onAbort(signal, () => {
      if (--this.#readers > 0) return
      this.#cancel.abort(new ServiceError('cancelled', 'every reader has left'))
    })
    return () => {
      stopWatching()
      this.#readers--
    }
  }
}
