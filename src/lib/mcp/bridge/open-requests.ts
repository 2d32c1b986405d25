import type { RequestId } from '../json-rpc.ts'

/** An unanswered request of the client. */
export class OpenRequest {
  readonly id: RequestId
  readonly #abort = new AbortController()

  constructor(id: RequestId) {
    this.id = id
  }

  /** Aborted when the client no longer waits for the answer. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get wanted(): boolean {
    return !this.#abort.signal.aborted
  }

  cancel(): void {
    this.#abort.abort()
  }
}

/** The unanswered requests by id. */
export class OpenRequests {
  readonly #byId = new Map<RequestId, OpenRequest>()

  get size(): number {
    return this.#byId.size
  }

  /** Returns null when a request with this id is open. */
  open(id: RequestId): OpenRequest | null {
    if (this.#byId.has(id)) return null
    const request = new OpenRequest(id)
    this.#byId.set(id, request)
    return request
  }

  find(id: RequestId): OpenRequest | null {
    return this.#byId.get(id) ?? null
  }

  /** Cancels and forgets the request, if it is open. */
  cancel(id: RequestId): boolean {
    const request = this.#byId.get(id)
    if (request === undefined) return false
    request.cancel()
    this.close(request)
    return true
  }

  close(request: OpenRequest): void {
    if (this.#byId.get(request.id) === request) this.#byId.delete(request.id)
  }

  all(): readonly OpenRequest[] {
    return [...this.#byId.values()]
  }
}
