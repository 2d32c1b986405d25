import type { Logger } from '../../util/logger.ts'
import type { Timer } from '../../util/time.ts'
import type { HeldBytes } from './held-bytes.ts'
import type { HttpLink } from './http-link.ts'
import type { BridgeLimits } from './limits.ts'
import type { Output } from './output.ts'
import type { Result } from '../../util/result.ts'

/** What both transports work with. */
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

/** An MCP endpoint to speak to. */
export interface Target {
  readonly url: URL
  /** What the instance there is called; null when only the address is known. */
  readonly name: string | null
  /** Absent: not known. */
  readonly pid?: number
}

/** The address as it is shown and logged: some servers take a key in its query. */
export function shownUrl({ protocol, host, pathname, search }: URL): string {
  return `${protocol}//${host}${pathname}${search === '' ? '' : '?…'}`
}

/**
 * Says where the endpoint is now, or in one clause why it is nowhere. Asked at the beginning and
 * whenever the last place was lost; must not reject.
 */
export type Locate = () => Promise<Result<Target, string>>
