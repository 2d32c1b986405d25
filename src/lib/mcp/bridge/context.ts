import type { Logger } from '../../util/logger.ts'
import type { Timer } from '../../util/timer.ts'
import type { HeldBytes } from './held-bytes.ts'
import type { HttpLink } from './http-link.ts'
import type { BridgeLimits } from './limits.ts'
import type { Output } from './output.ts'

/** What both eras work with. */
export interface BridgeContext {
  readonly link: HttpLink
  readonly output: Output
  readonly limits: BridgeLimits
  readonly held: HeldBytes
  readonly timer: Timer
  /** 0…1 */
  readonly random: () => number
  readonly log: Logger
  /** Is an API key sent? */
  readonly keyed: boolean
}

/** Of every POST. */
export const postHeaders = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
} as const
