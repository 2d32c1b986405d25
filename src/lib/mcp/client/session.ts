import type { JsonObject } from '../../util/json.ts'
import type { ServiceError } from '../../util/errors.ts'

/** A client at one run of one server, in whichever era that speaks. */
export interface McpSession {
  readonly url: URL
  /** Of the protocol. */
  readonly revision: string
  /** Resolves with the result; rejects with `ServiceError`. */
  request(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject>
  /**
   * Resolves once the subscription stands; rejects with `ServiceError`. `updated` is called for
   * every update, and after a gap in which one may have been missed.
   */
  subscribe(uri: string, updated: () => void, signal: AbortSignal): Promise<Subscription>
  /** Says farewell. Never rejects. */
  close(): Promise<void>
}

export interface Subscription {
  /** Settles when no update will come any more. Never rejects. */
  readonly over: Promise<Over>
}

/** `lost`: the server is gone, or has ended it, and another attempt may help. */
export type Over =
  | { readonly kind: 'lost'; readonly reason: string }
  | { readonly kind: 'refused'; readonly error: ServiceError }
