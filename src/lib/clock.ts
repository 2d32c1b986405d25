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
