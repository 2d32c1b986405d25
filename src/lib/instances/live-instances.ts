import { hostname } from 'node:os'
import { isLoopback, withoutBrackets } from '../util/net.ts'
import type { Logger } from '../util/logger.ts'
import { isRunning, processStart } from './process.ts'
import { type Instance, instanceOf, isDead, isOwnHost } from './instance.ts'
import { maxRecordAgeMs, readRecordFiles } from './record-files.ts'

export interface LiveInstancesParts {
  readonly registryDir: string
  readonly log: Logger
  /** Milliseconds since the epoch. */
  readonly nowMs: number
  /** Which instances of other machines count, in a folder that machines share; by default none. */
  readonly also?: (instance: Instance) => boolean
}

/** The instances of this user that can be connected to now, oldest first. Never rejects. */
export async function liveInstances({
  registryDir,
  log,
  nowMs,
  also = () => false,
}: LiveInstancesParts): Promise<Instance[]> {
  const files = await readRecordFiles(registryDir, log)
  const recent = files.filter(({ modifiedMs }) => nowMs - modifiedMs <= maxRecordAgeMs)
  const live: Instance[] = []
  for (const instance of recent.map(({ record }) => instanceOf(record))) {
    if (await isReachable(instance, also)) live.push(instance)
  }
  return live.toSorted((a, b) => a.startedMs - b.startedMs || (a.id < b.id ? -1 : 1))
}

/**
 * A folder shared by several machines holds records whose loopback addresses are not ours. One of
 * this machine that leads out of it is not true.
 */
async function isReachable(
  instance: Instance,
  also: (instance: Instance) => boolean,
): Promise<boolean> {
  const { hostname: owner, url, pid, pidStart } = instance
  const host = withoutBrackets(new URL(url).hostname)
  if (owner !== hostname()) return also(instance) && !isLoopback(host)
  return !isDead(pidStart, isRunning(pid), await processStart(pid)) && isOwnHost(host)
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
    ({ dccType, startedMs, hostname }) =>
      hostname === previous.hostname &&
      startedMs >= lostMs - overlapMs &&
      (dccType === previous.dccType || previous.dccType === 'unknown'),
  )
  return only(next) ?? only(next.filter(one => one.displayName === previous.displayName))
}

function only(instances: Instance[]): Instance | null {
  return instances.length === 1 ? (instances[0] ?? null) : null
}
