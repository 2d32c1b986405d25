import { findUnknownMember } from './known-members.ts'

/** Smallest and greatest value of a bound. */
type Range = readonly [least: number, most: number]

/** A timer that is to wait longer fires at once. */
export const maxTimerMs: number = 2 ** 31 - 1

/**
 * The defaults with the given ones in their place; undefined counts as not given. Throws
 * `TypeError` for an unknown name, and for a value that is no whole number of its range.
 */
export function resolveBounds<Bounds extends { [Name in keyof Bounds]: number }>(
  defaults: Readonly<Bounds>,
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
