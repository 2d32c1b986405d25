import type { Limits } from '../../options.ts'
import type { HeartbeatFacts } from './message-parsers.ts'
import { isBusy } from './presence.ts'

/** The newest heartbeat of a link, with the time of its arrival on a clock that is never set. */
export interface SeenHeartbeat {
  readonly atMs: number
  readonly heartbeat: HeartbeatFacts
}

/**
 * Why a question ran out of time. The time since the heartbeat is not added to what it says: it
 * has passed for an application that looks at the link all the time, too.
 */
export function lateReason(
  seen: SeenHeartbeat | null,
  nowMs: number,
  { linkHeartbeatMs, linkBusyMs }: Pick<Limits, 'linkHeartbeatMs' | 'linkBusyMs'>,
): 'host_busy' | 'host_timeout' {
  if (seen === null || nowMs - seen.atMs >= 2 * linkHeartbeatMs) return 'host_timeout'
  return isBusy(seen.heartbeat, linkBusyMs) ? 'host_busy' : 'host_timeout'
}
