import type { Clock, Timer } from '../../lib/util/time.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { AuthPolicy } from '../http/authentication.ts'
import type { PublicDocuments } from '../http/public-routes.ts'
import type { AuthLimits } from './limits.ts'

/** Who may use a server, and what keeps that up to date. */
export interface Auth {
  readonly policy: AuthPolicy
  /**
   * JSON documents that anyone may ask for, by path (`/.well-known/oauth-protected-resource`). Made
   * when asked for: the address is known then.
   */
  readonly documents: PublicDocuments
  close(): void | Promise<void>
}

export interface AuthDeps {
  /**
   * The address of `/mcp` that clients use, without a slash at its end. With port 0 it is right
   * only once the server listens: ask when a request is there, not before.
   */
  readonly mcpUrl: () => string
  readonly limits: AuthLimits
  /** The time of day, for expiries. */
  readonly clock: Clock
  /** For durations. */
  readonly ticks: Clock
  readonly timer: Timer
  readonly log: Logger
}
