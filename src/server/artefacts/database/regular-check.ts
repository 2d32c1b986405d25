import { ServiceError } from '../../../lib/util/errors.ts'
import { type Clock, monotonicClock, systemTimer, type Timer } from '../../../lib/util/time.ts'

/** Gateways and load balancers wait little longer for a health check. */
const maxMs = 1000
const everyMs = 2000

/** What `/readyz` says to anyone of a service that the server uses: no address and no name. */
export type CheckFacts =
  { readonly state: 'connected' } | { readonly state: 'away'; readonly reason: string }

/**
 * Returns `check`, made at most once in two seconds: callers in between share the last outcome. It
 * fails with `storage_failed` after a second, and is made again only when it has ended.
 */
export function checkRegularly(
  check: () => Promise<unknown>,
  { clock = monotonicClock, timer = systemTimer }: { clock?: Clock; timer?: Timer } = {},
): () => Promise<void> {
  let outcome: Promise<void> | undefined
  let isRunning = false
  let beganMs = 0
  return () => {
    if (outcome !== undefined && (isRunning || clock.now() - beganMs < everyMs)) return outcome
    beganMs = clock.now()
    isRunning = true
    outcome = new Promise<void>((resolve, reject) => {
      const reason = 'no answer in time'
      const late = () => reject(new ServiceError('storage_failed', reason, { data: { reason } }))
      const cancel = timer.after(maxMs, late)
      check()
        .then(() => resolve(), reject)
        .finally(() => {
          isRunning = false
          cancel()
        })
    })
    return outcome
  }
}

export async function checkFacts(outcome: Promise<void>): Promise<CheckFacts> {
  try {
    await outcome
    return { state: 'connected' }
  } catch (error) {
    return awayFacts(error)
  }
}

function awayFacts(error: unknown): CheckFacts & { readonly state: 'away' } {
  const reason = error instanceof ServiceError ? error.data?.['reason'] : undefined
  const hidden = 'it failed; the log of the server has the reason'
  return { state: 'away', reason: typeof reason === 'string' ? reason : hidden }
}
