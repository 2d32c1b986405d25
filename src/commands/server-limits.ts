import { checkLimits, defaultPublicLimits, type PublicLimits } from '../lib/config/limits.ts'
import { readLimitFlags } from './limit-flag.ts'

const names = Object.keys(defaultPublicLimits)

/** The limits of `serve` and `gateway`. Throws `usage_invalid`, naming the flag. */
export function readServerLimits(words: readonly string[] = []): Partial<PublicLimits> {
  return readLimitFlags(words, [{ names, check: checkLimits }])
}
