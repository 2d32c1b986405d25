import type { GatewayLimits } from './limits.ts'
import type { InstanceStatus } from '../../lib/instances/record.ts'
import type { DirectoryRecord, Verdict } from './instance-directory.ts'

/** An instance without a heartbeat for this long is stale. */
export const instanceStaleMs = 30_000

/** What could be found out about the process that a record names. */
export type ProcessState =
  | 'running'
  /** No such process any more. */
  | 'gone'
  /** Its id is that of a process that started at another time. */
  | 'replaced'
  /** On another machine: nothing can be found out. */
  | 'elsewhere'

export interface LifeFacts {
  readonly pid: number
  readonly process: ProcessState
  /** Heartbeats that were seen after the process was found gone or replaced. */
  readonly beatsSinceGone: number
  /** By a monotonic watch; null: old at first sight, and no heartbeat since. */
  readonly heartbeatAgeMs: number | null
  readonly status: InstanceStatus
}

export type Judgement = Pick<Verdict, 'health' | 'reason'>

/** One touch may come from another program, such as a backup; two are a heartbeat. */
const beatsOfLife = 2

/** Judges an instance by its process where that can be seen, then its heartbeat, then its word. */
export function judgeLife(facts: LifeFacts): Judgement {
  const { pid, process, heartbeatAgeMs } = facts
  const isGone = process === 'gone' || process === 'replaced'
  const beats = heartbeatAgeMs !== null && heartbeatAgeMs <= instanceStaleMs
  // A container may share folder and host name with us, and not its process ids.
  const outOfSight = isGone && beats && facts.beatsSinceGone >= beatsOfLife
  if (isGone && !outOfSight) {
    if (process === 'gone') return { health: 'dead', reason: `its process ${pid} has ended` }
    return { health: 'dead', reason: `another process now has its process id ${pid}` }
  }
  if (!beats) return { health: 'stale', reason: `${silence(facts)}${aside(facts)}` }
  if (facts.status === 'unreachable') {
    return { health: 'unhealthy', reason: 'it reports that it is unreachable' }
  }
  if (outOfSight) {
    return { health: 'live', reason: 'its heartbeat goes on; its process cannot be seen from here' }
  }
  if (process === 'running') {
    return { health: 'live', reason: 'its process runs and its heartbeat is fresh' }
  }
  return { health: 'live', reason: 'its heartbeat is fresh; its process is on another machine' }
}

/** What came of asking an instance whether it is ready. */
export interface ProbeFacts {
  readonly failuresInARow: number
  readonly lastError: string | null
}

/** What probes add: who beats and does not answer is unhealthy, unless it starts or stops. */
export function judgeProbe(
  life: Judgement,
  record: Pick<DirectoryRecord, 'status'>,
  probe: ProbeFacts | null,
  limits: Pick<GatewayLimits, 'maxProbeFailures'>,
): Judgement {
  if (life.health !== 'live' || probe === null) return life
  if (record.status === 'booting' || record.status === 'shutting_down') return life
  if (probe.failuresInARow < limits.maxProbeFailures) return life
  return { health: 'unhealthy', reason: `it is not ready: ${probe.lastError ?? 'no answer'}` }
}

function silence({ heartbeatAgeMs }: LifeFacts): string {
  const long = limitText(instanceStaleMs)
  if (heartbeatAgeMs !== null) return `no heartbeat for more than ${long}`
  return `its heartbeat was older than ${long} when it was first seen, and none came since`
}

function aside({ process, pid }: LifeFacts): string {
  if (process === 'running') return `, though its process ${pid} runs`
  return process === 'elsewhere' ? '; its process is on another machine' : ''
}

/** `30 s`, `500 ms`: in the unit in which it is a whole number. */
export function limitText(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`
}
