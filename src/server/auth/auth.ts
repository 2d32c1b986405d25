import type { Clock, Timer } from '../../lib/util/time.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { AuthPolicy } from '../http/authentication.ts'
import type { PublicDocuments } from '../http/public-routes.ts'
import type { AccountTokens } from './account-tokens.ts'
import type { AuthLimits } from './limits.ts'

/** The authentication of a server. */
export interface Auth {
  readonly policy: AuthPolicy
  /**
   * Public JSON documents by path (`/.well-known/oauth-protected-resource`). Built per request,
   * when the address is known.
   */
  readonly documents: PublicDocuments
  close(): void | Promise<void>
}

export interface AuthDeps {
  /**
   * The address of `/mcp` that clients use, without a trailing slash. With port 0 it is valid only
   * once the server listens: call it per request.
   */
  readonly mcpUrl: () => string
  /** The accounts server, for the mode `accounts`. */
  readonly accounts?: AccountTokens
  readonly limits: AuthLimits
  /** Wall-clock time, for expiries. */
  readonly clock: Clock
  /** For durations. */
  readonly ticks: Clock
  readonly timer: Timer
  readonly log: Logger
}
