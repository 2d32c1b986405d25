import type { RequestId } from '../json-rpc.ts'
import type { ClientRequest } from './client-message.ts'
import type { ServerMessage } from './server-message.ts'

/** The subscriptions of a session client, to be renewed after a restart of the server. */
export class Subscriptions {
  readonly #maxUris: number
  readonly #uris = new Set<string>()
  /** Requests without an answer yet. */
  readonly #pending = new Map<RequestId, { uri: string; subscribe: boolean }>()

  constructor(maxUris: number) {
    this.#maxUris = maxUris
  }

  get uris(): readonly string[] {
    return [...this.#uris]
  }

  has(uri: string): boolean {
    return this.#uris.has(uri)
  }

  /** Must be called before the request is sent; `answered` or `forget` must follow. */
  asked({ id, method, params }: ClientRequest): void {
    const { uri } = params
    if (typeof uri !== 'string') return
    if (method === 'resources/subscribe') this.#pending.set(id, { uri, subscribe: true })
    if (method === 'resources/unsubscribe') this.#pending.set(id, { uri, subscribe: false })
  }

  answered(message: ServerMessage): void {
    if (message.kind !== 'response' || message.id === null) return
    const change = this.#pending.get(message.id)
    this.#pending.delete(message.id)
    if (change === undefined || message.error !== null) return
    if (!change.subscribe) this.#uris.delete(change.uri)
    else if (this.#uris.size < this.#maxUris) this.#uris.add(change.uri)
  }

  /** Forgets a request without answer. */
  forget(id: RequestId): void {
    this.#pending.delete(id)
  }

  clear(): void {
    this.#uris.clear()
    this.#pending.clear()
  }
}
