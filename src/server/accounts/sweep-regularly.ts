import type { Clock } from '../../lib/util/clock.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { repeat } from '../../lib/util/repeat.ts'
import type { Timer } from '../../lib/util/timer.ts'
import type { AccountStore } from './account-store.ts'
import type { AccountLimits } from './limits.ts'

/** Removes what is over, for as long as the server runs. Returns the stop. */
export function sweepRegularly(parts: {
  readonly store: Pick<AccountStore, 'sweep'>
  readonly clock: Clock
  readonly timer: Timer
  readonly log: Logger
  readonly limits: Pick<AccountLimits, 'accountSweepMs' | 'accountKeepMs'>
}): () => void {
  const { store, clock, timer, log, limits } = parts
  return repeat(timer, limits.accountSweepMs, async () => {
    try {
      await store.sweep(clock.now() - limits.accountKeepMs)
    } catch (error) {
      log.warn({ err: error }, 'what is over could not be removed; tried again later')
    }
  })
}
