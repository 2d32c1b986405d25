import type { Result } from '../result.ts'

/** An MCP endpoint to speak to. */
export interface Target {
  readonly url: URL
  /** What the instance there is called; null when only the address is known. */
  readonly name: string | null
}

/**
 * Says where the endpoint is now, or in one clause why it is nowhere. Asked at the beginning and
 * whenever the last place was lost; must not reject.
 */
export type Locate = () => Promise<Result<Target, string>>
