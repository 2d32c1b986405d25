import { hideTokens } from '../../lib/util/hide-tokens.ts'

const maxChars = 200

/** A path as the log may show it. */
export function loggedPath(path: string): string {
  const clean = hideTokens(path)
  return clean.length > maxChars ? `${clean.slice(0, maxChars)}…` : clean
}
