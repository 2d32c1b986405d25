import { hostname } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../util/errors.ts'
import type { Logger } from '../util/logger.ts'
import { isLoopback } from '../util/net.ts'
import { type Instance, instanceOf, lifeOf } from './instance.ts'
import { listRecords, readRecordFile } from './record-files.ts'

export interface LiveInstancesParts {
  readonly registryDir: string
  readonly log: Logger
  /** Which instances of other machines count, in a folder that machines share; by default none. */
  readonly also?: (instance: Instance) => boolean
}

/** The instances of this user that can be connected to now, oldest first. Never rejects. */
export async function liveInstances(parts: LiveInstancesParts): Promise<Instance[]> {
  const { registryDir, log, also = () => false } = parts
  const folder = join(registryDir, 'instances')
  const names = await listRecords(folder).catch((error: unknown): string[] => {
    log.warn({ folder }, messageOf(error))
    return []
  })
  const live: Instance[] = []
  for (const name of names) {
    const file = readRecordFile(join(folder, name))
    if (file?.record.ok !== true) continue
    const instance = instanceOf(file.record.value)
    if (lifeOf(instance, file.modifiedMs) !== 'live') continue
    const isHere = instance.hostname === hostname()
    // The loopback address of another machine is not that of this one.
    const isReachable = isHere || !isLoopback(new URL(instance.url).hostname)
    if (isReachable && (isHere || also(instance))) live.push(instance)
  }
  return live.toSorted((a, b) => a.startedMs - b.startedMs || (a.id < b.id ? -1 : 1))
}

interface NextRunFacts {
  /** The instance that was connected to, as it was last known. */
  readonly previous: Instance
  /** When it was missed first. */
  readonly lostMs: number
}

/** Started so long before its predecessor was missed, it can still be its next run. */
const overlapMs = 10_000

/**
 * Returns the same instance or its next run. Every run has another id, so the next run is found by
 * machine, kind of application and start time, then by name. Null when none or several fit.
 */
export function findNextRun(
  instances: Instance[],
  { previous, lostMs }: NextRunFacts,
): Instance | null {
  const same = instances.find(({ id }) => id === previous.id)
  if (same !== undefined) return same
  // What had no kind yet when it was looked at may have got one since.
  const next = instances.filter(
    ({ dccType, startedMs, hostname: machine }) =>
      machine === previous.hostname &&
      startedMs >= lostMs - overlapMs &&
      (dccType === previous.dccType || previous.dccType === 'unknown'),
  )
  return only(next) ?? only(next.filter(one => one.displayName === previous.displayName))
}

function only(instances: Instance[]): Instance | null {
  return instances.length === 1 ? (instances[0] ?? null) : null
}
