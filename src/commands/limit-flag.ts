import { checkLimits, defaultLimits } from '../lib/config/limits.ts'
import { messageOf, usage } from '../lib/util/errors.ts'

/** Parses all `--limit NAME=NUMBER`. Throws `usage_invalid`, naming the flag. */
export function readLimitFlags(
  words: string[],
  defaults: object = defaultLimits,
): Record<string, number> {
  const limits: Record<string, number> = {}
  for (const word of words) {
    const [name = '', value = ''] = word.split('=', 2)
    if (!/^\d{1,15}$/.test(value)) {
      throw usage(`--limit ${word}: expected NAME=NUMBER, a whole number`)
    }
    try {
      checkLimits({ [name]: Number(value) }, defaults)
    } catch (error) {
      throw usage(`--limit ${word}: ${messageOf(error)}`, 'docs/limits.md lists the limits')
    }
    limits[name] = Number(value)
  }
  return limits
}
