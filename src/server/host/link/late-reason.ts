import type { Heartbeat } from '../../../lib/host-link/wire.ts'
import type { Limits } from '../../../lib/config/limits.ts'

/** The newest heartbeat of a link, with the time of its arrival on a clock that is never set. */
export interface SeenHeartbeat {
  readonly atMs: number
  readonly heartbeat: Pick<Heartbeat, 'main_idle_ms' | 'busy'>
}

type BusyLimits = Pick<Limits, 'linkBusyMs'>

/** Did the main thread of the application say that it is at work elsewhere? */
export function isMainBusy(
  { main_idle_ms, busy }: SeenHeartbeat['heartbeat'],
  { linkBusyMs }: BusyLimits,
): boolean {
  return main_idle_ms > linkBusyMs || (busy ?? '') !== ''
}

/**
 * Why a question ran out of time. The time since the heartbeat is not added to what it says: it
 * has passed for an application that looks at the link all the time, too.
 */
export function lateReason(
  seen: SeenHeartbeat | null,
  nowMs: number,
  limits: BusyLimits & Pick<Limits, 'linkHeartbeatMs'>,
): 'host_busy' | 'host_timeout' {
  if (seen === null || nowMs - seen.atMs >= 2 * limits.linkHeartbeatMs) return 'host_timeout'
  return isMainBusy(seen.heartbeat, limits) ? 'host_busy' : 'host_timeout'
}
