import { hostname } from 'node:os'
import { isLoopback, withoutBrackets } from '../address.ts'
import type { Logger } from '../logger.ts'
import { isRunning, processStart } from '../process-start.ts'
import { type Instance, parseInstance } from './instance.ts'
import { isDead } from './owner.ts'
import { maxRecordAgeMs, readRecordFiles } from './record-files.ts'

export interface LiveInstancesParts {
  readonly registryDir: string
  readonly log: Logger
  /** Milliseconds since the epoch. */
  readonly nowMs: number
}

/** The instances of this user that can be connected to now, oldest first. Never rejects. */
export async function liveInstances({
  registryDir,
  log,
  nowMs,
}: LiveInstancesParts): Promise<Instance[]> {
  const files = await readRecordFiles(registryDir, log)
  const recent = files.filter(({ modifiedMs }) => nowMs - modifiedMs <= maxRecordAgeMs)
  const live: Instance[] = []
  for (const instance of recent.map(parseInstance)) {
    if (instance !== null && (await isReachable(instance))) live.push(instance)
  }
  return live.toSorted((a, b) => a.startedMs - b.startedMs || (a.id < b.id ? -1 : 1))
}

/** A folder shared by several machines holds records whose loopback addresses are not ours. */
async function isReachable({ hostname: owner, url, pid, pidStart }: Instance): Promise<boolean> {
  const host = withoutBrackets(new URL(url).hostname)
  if (owner !== hostname()) return !isLoopback(host)
  return !isDead({ pidStart }, isRunning(pid), await processStart(pid))
}
