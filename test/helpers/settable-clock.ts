export const startMs = Date.parse('2030-01-01T00:00:00Z')

/** A clock that only `advance` moves. */
export function settableClock(start = startMs) {
  let time = start
  return { now: () => time, advance: (ms: number) => void (time += ms) }
}
