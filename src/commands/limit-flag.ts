import { nearest } from '../lib/util/text.ts'
import { messageOf, usage } from '../lib/util/errors.ts'

/** A set of named limits with their validation. */
interface LimitSet {
  readonly names: readonly string[]
  /** Throws `TypeError` for a value out of range. */
  readonly check: (limits: Record<string, number>) => unknown
}

/** Parses all `--limit NAME=NUMBER`. Throws `usage_invalid`, naming the flag. */
export function readLimitFlags(words: string[], sets: LimitSet[]): Record<string, number> {
  const limits: Record<string, number> = {}
  for (const word of words) {
    const [name = '', value] = word.split('=', 2)
    const set = sets.find(({ names }) => names.includes(name))
    if (set === undefined) {
      const similar = nearest(
        name,
        sets.flatMap(({ names }) => names),
      )
      throw usage(
        `--limit ${word}: unknown limit "${name}"`,
        similar === undefined ? 'docs/limits.md lists them' : `did you mean ${similar}?`,
      )
    }
    if (value === undefined || !/^\d{1,15}$/.test(value)) {
      throw usage(`--limit ${word}: expected ${name}=NUMBER, a whole number`)
    }
    try {
      set.check({ [name]: Number(value) })
    } catch (error) {
      throw usage(`--limit ${word}: ${messageOf(error)}`)
    }
    limits[name] = Number(value)
  }
  return limits
}
