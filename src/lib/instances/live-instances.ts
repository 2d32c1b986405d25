import { hostname } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../util/errors.ts'
import type { Logger } from '../util/logger.ts'
import { type Instance, instanceOf, lifeOf } from './instance.ts'
import { readInstances } from './record-files.ts'

/** The instances of this user on this machine that can be used now, oldest first. Never rejects. */
export async function liveInstances(registryDir: string, log: Logger): Promise<Instance[]> {
  const folder = join(registryDir, 'instances')
  const all = await readInstances(folder).catch((error: unknown) => {
    log.warn({ folder }, messageOf(error))
    return []
  })
  const live = all.filter(({ record, heartbeatMs }) => {
    return record.hostname === hostname() && lifeOf(record, heartbeatMs) === 'live'
  })
  return live
    .map(({ record }) => instanceOf(record))
    .toSorted((a, b) => a.startedMs - b.startedMs || (a.id < b.id ? -1 : 1))
}

/** Started so long before its predecessor was missed, it can still be its next run. */
const overlapMs = 10_000

/**
 * Returns the same instance or its next run; null when none or several fit. Every run has another
 * id, so the next run is found by kind of application and start time, then by name. `lostMs`: when
 * the previous one was missed first.
 */
export function findNextRun(
  instances: Instance[],
  previous: Instance,
  lostMs: number,
): Instance | null {
  const same = instances.find(({ id }) => id === previous.id)
  if (same !== undefined) return same
  // What had no kind yet when it was looked at may have got one since.
  const next = instances.filter(
    ({ dccType, startedMs }) =>
      startedMs >= lostMs - overlapMs &&
      (dccType === previous.dccType || previous.dccType === 'unknown'),
  )
  const named = next.filter(one => one.displayName === previous.displayName)
  const [found, ...others] = next.length === 1 ? next : named
  return found !== undefined && others.length === 0 ? found : null
}
