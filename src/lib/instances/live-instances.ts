import { hostname } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../util/errors.ts'
import type { Logger } from '../util/logger.ts'
import { healthOf } from './process.ts'
import { readInstances } from './record-files.ts'
import { byAge, type InstanceRecord } from './record.ts'

/**
 * The MCP endpoint at the address that the server itself listens on: `mcp_url` may lead over a
 * proxy and out of this machine, or have a certificate that is unknown here.
 */
export function localUrlOf({ host_url, mcp_url }: InstanceRecord): URL {
  return URL.parse('/mcp', host_url) ?? new URL(mcp_url)
}

/** The instances of this user on this machine that can be used now, oldest first. Never rejects. */
export async function liveInstances(registryDir: string, log: Logger): Promise<InstanceRecord[]> {
  const folder = join(registryDir, 'instances')
  const all = await readInstances(folder).catch((error: unknown) => {
    log.warn({ folder }, messageOf(error))
    return []
  })
  const live = all.filter(({ record, heartbeatMs }) => {
    return record.hostname === hostname() && healthOf(record, heartbeatMs) === 'live'
  })
  return live.map(({ record }) => record).toSorted(byAge)
}

/** Started so long before its predecessor was missed, it can still be its next run. */
const overlapMs = 10_000

/**
 * Returns the same instance or its next run; null when none or several fit. Every run has another
 * id, so the next run is found by kind of application and start time, then by name. `lostMs`: when
 * the previous one was missed first.
 */
export function findNextRun(
  instances: InstanceRecord[],
  previous: InstanceRecord,
  lostMs: number,
): InstanceRecord | null {
  const same = instances.find(({ instance_id: id }) => id === previous.instance_id)
  if (same !== undefined) return same
  // What had no kind yet when it was looked at may have got one since.
  const next = instances.filter(
    ({ dcc_type: type, started_at: started }) =>
      Date.parse(started) >= lostMs - overlapMs &&
      (type === previous.dcc_type || previous.dcc_type === 'unknown'),
  )
  const named = next.filter(one => one.display_name === previous.display_name)
  const [found, ...others] = next.length === 1 ? next : named
  return found !== undefined && others.length === 0 ? found : null
}
