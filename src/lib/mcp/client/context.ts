import type { Logger } from '../../util/logger.ts'
import type { Secret } from '../../util/secret.ts'
import { ByteBudget } from '../bridge/byte-budget.ts'
import { HttpLink } from '../bridge/http-link.ts'
import type { Timer } from '../../util/time.ts'
import { userAgent } from '../../util/version.ts'
import type { McpClientLimits } from './limits.ts'
import type { JsonObject } from '../../util/json.ts'
import type { ServiceError } from '../../util/errors.ts'

interface ClientParts {
  /** Sent as Bearer to the endpoint, and nowhere else. */
  readonly key: Secret | null
  /** For the proxy variables. */
  readonly env: NodeJS.ProcessEnv
  readonly limits: McpClientLimits
  readonly timer: Timer
  readonly log: Logger
}

/** What both transports work with. */
export interface ClientContext {
  readonly link: HttpLink
  readonly budget: ByteBudget
  readonly limits: McpClientLimits
  readonly timer: Timer
  readonly log: Logger
  /** Is a key sent? */
  readonly keyed: boolean
}

/** `link.close()` ends what is left of its connections. */
export function createClientContext(parts: ClientParts): ClientContext {
  const { key, env, limits, timer, log } = parts
  return {
    link: new HttpLink({ limits, key, env, timer, userAgent }),
    budget: new ByteBudget(limits.maxHeldBytes),
    limits,
    timer,
    log,
    keyed: key !== null,
  }
}

/** A client at one run of one server, over the transport that it speaks. */
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
