/** The time, in milliseconds since the Unix epoch. Injected, so that tests can set it. */
export interface Clock {
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** For durations: never set back, and not advanced by whoever sets the time. */
export const monotonicClock: Clock = { now: () => performance.now() }

/** RFC 3339 in UTC with milliseconds: the form of every time on the wire. */
export function toRfc3339(timeMs: number): string {
  return new Date(timeMs).toISOString()
}

const form = /^\d{4}-\d\d-(\d\d)[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/

/** Milliseconds of an RFC 3339 time, or null for anything else (no zone, 30 February). */
export function parseRfc3339(text: string): number | null {
  const match = form.exec(text)
  if (match === null) return null
  const normal = text.toUpperCase().replace(' ', 'T')
  const timeMs = Date.parse(normal)
  // The parser rolls 30 February over to March: the day must exist in its month.
  const day = Date.parse(`${normal.slice(0, 10)}T00:00:00Z`)
  if (Number.isNaN(timeMs) || new Date(day).getUTCDate() !== Number(match[1])) return null
  return timeMs
}
