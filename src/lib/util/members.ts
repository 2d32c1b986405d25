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

/** Returns a copy of the object without its undefined members. */
export function omitUndefined<Members extends object>(members: Members): Members {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as Members
}
