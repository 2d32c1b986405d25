import { toRfc3339 } from '../../lib/clock.ts'

const form = /^\d{4}-\d\d-(\d\d)[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/

/** An RFC 3339 time in UTC with milliseconds, or null for anything else (no zone, 30 February). */
export function parseTime(text: string): string | null {
  const match = form.exec(text)
  if (match === null) return null
  const normal = text.toUpperCase().replace(' ', 'T')
  const timeMs = Date.parse(normal)
  // The parser rolls 30 February over to March: the day must exist in its month.
  const day = Date.parse(`${normal.slice(0, 10)}T00:00:00Z`)
  if (Number.isNaN(timeMs) || new Date(day).getUTCDate() !== Number(match[1])) return null
  return toRfc3339(timeMs)
}
