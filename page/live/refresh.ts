import { Throttle } from '../../src/lib/util/throttle.ts'
import type { Timer } from '../../src/lib/util/time.ts'

export const timer: Timer = {
  after(delayMs, run) {
    const handle = window.setTimeout(run, delayMs)
    return () => window.clearTimeout(handle)
  },
}

/** A function that runs `work` soon: one run at a time, at most one an interval, and one after the last call. */
export function refresher(minIntervalMs: number, work: () => Promise<void>): () => void {
  const throttle = new Throttle({ timer, minIntervalMs, run: work })
  return () => throttle.poke()
}
