import { hostname } from 'node:os'
import { isLoopback, withoutBrackets } from '../util/address.ts'
import type { Logger } from '../util/logger.ts'
import { isRunning, processStart } from '../util/process-start.ts'
import { type Instance, parseInstance } from './instance.ts'
import { isDead } from './owner.ts'
import { isOwnHost } from './own-host.ts'
import { maxRecordAgeMs, readRecordFiles } from './record-files.ts'

export interface LiveInstancesParts {
  readonly registryDir: string
  readonly log: Logger
  /** Milliseconds since the epoch. */
  readonly nowMs: number
  /** Which of other machines count, in a folder that machines share; none unless somebody says. */
  readonly also?: ((instance: Instance) => boolean) | undefined
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
  for (const instance of recent.map(parseInstance)) {
    if (instance !== null && (await isReachable(instance, also))) live.push(instance)
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
  if (isDead({ pidStart }, isRunning(pid), await processStart(pid))) return false
  return isOwnHost(host)
}
