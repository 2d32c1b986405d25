/** Less than this is the way of an answer, and the whole seconds of its date. */
const leastMs = 10_000

let aheadMs = 0
let lastMs = -Infinity

/**
 * The time of the server, in milliseconds since the epoch: the clock of the reader's computer may be
 * wrong. Never goes back when that clock is set back.
 */
export function serverNow(): number {
  const ms = Date.now() + aheadMs
  if (ms < lastMs) aheadMs += lastMs - ms
  lastMs = Math.max(lastMs, ms)
  return lastMs
}

/** Heeds the header `Date` of an answer. */
export function heedDate(header: string | null): void {
  const ms = Date.parse(header ?? '')
  if (Number.isNaN(ms) || Math.abs(ms - serverNow()) < leastMs) return
  aheadMs = ms - Date.now()
  lastMs = ms
}
