import type { RequestId } from '../../../lib/mcp/json-rpc.ts'
import type { Limits } from '../../../lib/config/limits.ts'
import type { Reader } from '../../resources/reader.ts'

type ReadLimits = Pick<Limits, 'maxCancellableReads'>

/**
 * The reads of one session that `notifications/cancelled` can stop, by the id of their request. A
 * read is among them while its work would notice: all others are over at once, or run to their end.
 */
export class CancellableReads {
  readonly #cancels = new Map<RequestId, () => void>()

  reader(id: RequestId, limits: ReadLimits): SessionReader {
    return new SessionReader(cancel => this.#add(id, cancel, limits))
  }

  /** Ids that are none, unknown or over by now are passed over ("Cancellation", "Error Handling"). */
  cancel(id: unknown): void {
    this.#cancels.get(id as RequestId)?.()
  }

  #add(id: RequestId, cancel: () => void, { maxCancellableReads }: ReadLimits): () => void {
    // Of two open requests with one id nobody could say which is meant: the first one keeps it.
    if (this.#cancels.size >= maxCancellableReads || this.#cancels.has(id)) return () => {}
    this.#cancels.set(id, cancel)
    return () => void this.#cancels.delete(id)
  }
}

/** The client of one request of a session: it leaves by saying so, not by closing the connection. */
export class SessionReader implements Reader {
  readonly #listen: (cancel: () => void) => () => void
  /** Made when somebody asks: most requests are over before. */
  #end: PromiseWithResolvers<null> | undefined

  constructor(listen: (cancel: () => void) => () => void) {
    this.#listen = listen
  }

  /** Never settles for a request that is not cancelled. */
  get cancelled(): Promise<null> {
    return (this.#end ??= Promise.withResolvers()).promise
  }

  onLeave(left: () => void): () => void {
    const forget = this.#listen(() => {
      forget()
      this.#end ??= Promise.withResolvers()
      this.#end.resolve(null)
      left()
    })
    return forget
  }
}
