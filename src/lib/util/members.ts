import { meantWords } from './text.ts'

/**
 * What is wrong with the names in `options`, or null. Names whose value is undefined count as not
 * given. A mistyped option would otherwise be ignored without a word.
 */
export function findUnknownMember(options: object, known: string[], what: string): string | null {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || known.includes(name)) continue
    return `unknown ${what} "${name}"${meantWords(name, known)}`
  }
  return null
}

/** The names of every member of `Options`; the compiler refuses the list when one is missing. */
export function membersOf<Options>(members: Record<keyof Required<Options>, true>): string[] {
  return Object.keys(members)
}

/** Smallest and greatest value of a bound. */
type Range = readonly [least: number, most: number]

/**
 * The defaults with the given ones in their place; undefined counts as not given. Throws
 * `TypeError` for an unknown name, and for a value that is no whole number of its range.
 */
export function resolveBounds<Bounds extends { [Name in keyof Bounds]: number }>(
  defaults: Bounds,
  overrides: Partial<Bounds>,
  rangeOf: (name: keyof Bounds & string) => Range,
): Bounds {
  const unknown = findUnknownMember(overrides, Object.keys(defaults), 'limit')
  if (unknown !== null) throw new TypeError(unknown)
  const bounds = { ...defaults } as Bounds
  for (const [name, value] of Object.entries(overrides) as [keyof Bounds & string, unknown][]) {
    if (value === undefined) continue
    const [least, most] = rangeOf(name)
    if (!Number.isSafeInteger(value) || (value as number) < least || (value as number) > most) {
      throw new TypeError(`limit "${name}" must be a whole number from ${least} to ${most}`)
    }
    bounds[name] = value as Bounds[typeof name]
  }
  return bounds
}

/** Returns a copy of the object without its undefined members. */
export function omitUndefined<Members extends object>(members: Members): Members {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as Members
}
