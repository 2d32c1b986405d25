import type { Clock } from '../../lib/util/clock.ts'

/**
 * Time during which this process was there to look. A longer pause between two questions, as when
 * it was stopped, or the machine slept, counts as `mostPauseMs`: what was silent meanwhile was not
 * silent on its own account. `clock` never goes back.
 */
export function createAwakeClock(clock: Clock, mostPauseMs: number): Clock {
  let askedMs = clock.now()
  let awakeMs = 0
  return {
    now() {
      const nowMs = clock.now()
      awakeMs += Math.min(nowMs - askedMs, mostPauseMs)
      askedMs = nowMs
      return awakeMs
    },
  }
}
