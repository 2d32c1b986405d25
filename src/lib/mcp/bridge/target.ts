import type { Result } from '../../util/result.ts'

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
