import type { Logger } from '../../util/logger.ts'
import type { Secret } from '../../util/secret.ts'
import { HeldBytes } from '../bridge/held-bytes.ts'
import { HttpLink } from '../bridge/http-link.ts'
import type { Timer } from '../../util/timer.ts'
import { userAgent } from '../../util/user-agent.ts'
import type { McpClientLimits } from './limits.ts'

export interface ClientParts {
  /** Sent as Bearer to the endpoint, and nowhere else. */
  readonly key: Secret | null
  /** For the proxy variables. */
  readonly env: NodeJS.ProcessEnv
  readonly limits: McpClientLimits
  readonly timer: Timer
  readonly log: Logger
}

/** What both eras work with. */
export interface ClientContext {
  readonly link: HttpLink
  readonly held: HeldBytes
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
    held: new HeldBytes(limits.maxHeldBytes),
    limits,
    timer,
    log,
    keyed: key !== null,
  }
}
