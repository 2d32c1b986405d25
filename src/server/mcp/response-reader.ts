import type { ServerResponse } from 'node:http'
import type { Reader } from '../resources/producer.ts'

/**
 * The client of one request of 2026-07-28, where closing the connection cancels the request
 * ("Cancellation"). In the session transport it does not ("Streamable HTTP"): their reader says so.
 */
export class ResponseReader implements Reader {
  readonly #res: ServerResponse

  constructor(res: ServerResponse) {
    this.#res = res
  }

  onLeave(left: () => void): () => void {
    if (this.#res.destroyed) {
      left()
      return () => {}
    }
    this.#res.once('close', left)
    return () => void this.#res.off('close', left)
  }
}
