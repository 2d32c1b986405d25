import type { JoinLimits } from '../../../lib/config/join-limits.ts'
import { repeat, type Timer } from '../../../lib/util/time.ts'
import type { Outage } from '../../database/outage.ts'
import type { JoinedTable } from '../postgres/joined-table.ts'

/** Renews the lease of this gateway, and ends those that have run out. Returns the stop. */
export function keepLease({
  table,
  outage,
  limits: { gatewayLeaseMs, gatewayRenewMs },
  timer,
}: {
  table: Pick<JoinedTable, 'renew' | 'sweep'>
  outage: Outage
  limits: JoinLimits
  timer: Timer
}): () => void {
  /** Renewals in a row. */
  let renewals = 0
  return repeat(timer, gatewayRenewMs, async () => {
    try {
      await table.renew()
      outage.answered()
      // After an outage of the database every gateway first has the time to renew its own.
      if (++renewals * gatewayRenewMs > gatewayLeaseMs) await table.sweep()
    } catch (error) {
      renewals = 0
      outage.failed(error)
    }
  })
}
