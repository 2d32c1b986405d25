import { nearest } from './text.ts'

/**
 * What is wrong with the names in `options`, or null. Names whose value is undefined count as not
 * given. A mistyped option would otherwise be ignored without a word.
 */
export function findUnknownMember(
  options: object,
  known: readonly string[],
  what: string,
): string | null {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || known.includes(name)) continue
    const meant = nearest(name, known)
    return `unknown ${what} "${name}"${meant === undefined ? '' : `; did you mean "${meant}"?`}`
  }
  return null
}

/** The names of every member of `Options`; the compiler refuses the list when one is missing. */
export function membersOf<Options>(members: Record<keyof Required<Options>, true>): string[] {
  return Object.keys(members)
}
