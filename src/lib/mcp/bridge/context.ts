import type { Logger } from '../../util/logger.ts'
import type { Result } from '../../util/result.ts'
import type { Connection } from './connection.ts'
import type { Output } from './bridge.ts'

/** What the parts of one bridge share. */
export interface BridgeContext {
  readonly connection: Connection
  readonly output: Output
  readonly log: Logger
}

/** An MCP endpoint. */
export interface Target {
  readonly url: URL
  /** File of the owner's token, with which commands of the same account use the server. */
  readonly ownerFile?: string
}

/**
 * Finds the current endpoint, or fails with the reason as one clause. Called at the start and
 * after each loss of the server. Must not reject.
 */
export type Locate = () => Promise<Result<Target, string>>

/** The address for messages and logs. Hides the query, where some servers expect a key. */
export function shownUrl({ protocol, host, pathname, search }: URL): string {
  return `${protocol}//${host}${pathname}${search === '' ? '' : '?…'}`
}
