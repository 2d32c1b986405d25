import type { Logger } from '../../util/logger.ts'
import type { Timer } from '../../util/time.ts'
import type { ByteBudget } from './byte-budget.ts'
import type { HttpLink } from './http-link.ts'
import type { BridgeLimits } from './limits.ts'
import type { Output } from './output.ts'
import type { Result } from '../../util/result.ts'

/** The context of both transports. */
export interface BridgeContext {
  readonly link: HttpLink
  readonly output: Output
  readonly limits: BridgeLimits
  readonly budget: ByteBudget
  readonly timer: Timer
  /** 0…1 */
  readonly random: () => number
  readonly log: Logger
  /** An API key is sent. */
  readonly keyed: boolean
}

/** Headers of every POST. */
export const postHeaders = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
} as const

/** An MCP endpoint. */
export interface Target {
  readonly url: URL
  /** The name of the instance; null when only the address is known. */
  readonly name: string | null
  /** Absent when unknown. */
  readonly pid?: number
  /** Where the token lies with which commands of the same account use the server. */
  readonly ownerFile?: string
}

/** The address for messages and logs. Hides the query, where some servers expect a key. */
export function shownUrl({ protocol, host, pathname, search }: URL): string {
  return `${protocol}//${host}${pathname}${search === '' ? '' : '?…'}`
}

/**
 * Finds the current endpoint, or fails with the reason as one clause. Called at the start and
 * after each loss of the server. Must not reject.
 */
export type Locate = () => Promise<Result<Target, string>>
