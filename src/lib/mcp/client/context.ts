import type { Logger } from '../../util/logger.ts'
import { HttpLink, type KeySource, overdueText } from '../bridge/http-link.ts'
import type { Timer } from '../../util/time.ts'
import { userAgent } from '../../util/version.ts'
import type { McpClientLimits } from './limits.ts'
import type { JsonObject } from '../../util/json.ts'
import type { ServiceError } from '../../util/errors.ts'

interface ClientParts {
  /** Sent as Bearer to the endpoint only. */
  readonly key: KeySource
  /** Holds the proxy variables. */
  readonly env: NodeJS.ProcessEnv
  readonly limits: McpClientLimits
  readonly timer: Timer
  readonly log: Logger
}

/** The context of both transports. */
export interface ClientContext {
  readonly link: HttpLink
  readonly maxAnswerBytes: number
  readonly limits: McpClientLimits
  readonly timer: Timer
  readonly log: Logger
  /** A key is sent. */
  readonly keyed: boolean
}

/** The caller must call `link.close()` at the end. */
export function createClientContext(parts: ClientParts): ClientContext {
  const { key, env, limits, timer, log } = parts
  const link = new HttpLink({
    key,
    env,
    userAgent,
    overdue: ({ host }) => log.warn({ host }, overdueText(host)),
  })
  return {
    link,
    maxAnswerBytes: limits.maxAnswerBytes,
    limits,
    timer,
    log,
    get keyed() {
      return link.key !== null
    },
  }
}

/** A connection to one run of a server. */
export interface McpSession {
  readonly url: URL
  /** The protocol revision. */
  readonly revision: string
  /** Resolves with the result; rejects with `ServiceError`. */
  request(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject>
  /**
   * Resolves when the server has accepted the subscription; rejects with `ServiceError`. `updated`
   * is called for every update, and after a gap that may have hidden one.
   */
  subscribe(uri: string, updated: () => void, signal: AbortSignal): Promise<Subscription>
  /** Ends the session. Never rejects. */
  close(): Promise<void>
}

export interface Subscription {
  /** Settles when the subscription has ended. Never rejects. */
  readonly ended: Promise<SubscriptionEnd>
}

/** `lost`: the server is gone or ended the subscription; the caller may retry. */
export type SubscriptionEnd =
  | { readonly kind: 'lost'; readonly reason: string }
  | { readonly kind: 'refused'; readonly error: ServiceError }
