import { counted } from '../../lib/cli/format.ts'
import type { Finding } from './finding.ts'

/** The judged state of an instance. */
interface InstanceFacts {
  readonly shortId: string
  readonly name: string
  readonly health: 'live' | 'stale' | 'unhealthy' | 'dead'
  readonly reason: string
  readonly pid: number
  /** `application gone since …`; null when it is connected or never was. */
  readonly absence?: string | null
}

/** Judges all instances. `answering`: short ids of instances that served a request. */
export function judgeInstances(
  instances: readonly InstanceFacts[],
  answering: ReadonlySet<string> = new Set(),
): Finding {
  const check = 'instances'
  const of = (health: InstanceFacts['health']) =>
    instances.filter(instance => instance.health === health)
  const [live, stale, unhealthy, dead] = [of('live'), of('stale'), of('unhealthy'), of('dead')]
  const there = live.length + stale.length + unhealthy.length
  const ended = dead.length === 0 ? '' : `; ${counted(dead.length, 'record')} of ended ones`
  // A stale record of a healthy server: the state directory may be read-only.
  const untouched = stale.filter(({ shortId }) => answering.has(shortId))
  const wrong = [...stale, ...unhealthy].filter(instance => !untouched.includes(instance))
  if (wrong.length + untouched.length === 0) {
    const what = there === 0 ? 'no instance runs' : `${counted(there, 'instance')}, all well`
    const hint = 'start one beside your application: service-cli serve'
    return { check, status: 'ok', summary: `${what}${ended}`, ...absences(live), hint }
  }
  const state =
    wrong.length > 0
      ? `${wrong.length} of them not well`
      : `${untouched.length} of them with a stale record`
  return {
    check,
    status: 'warn',
    summary: `${counted(there, 'instance')}, ${state}${ended}`,
    details: [
      ...wrong.map(
        ({ name, shortId, health, reason, pid }) =>
          `${name} (${shortId}, process ${pid}) is ${health}: ${reason}`,
      ),
      ...untouched.map(
        ({ name, shortId, reason, pid }) =>
          `${name} (${shortId}, process ${pid}) answers, but its record is stale: ${reason}`,
      ),
      ...(absences(live).details ?? []),
    ],
    hint:
      wrong.length > 0
        ? 'end a hanging process by its id; its record is removed automatically'
        : 'make the state directory writable, so that gateways and commands find the instance',
  }
}

/** Not an error, but the scene is out of date. */
function absences(live: readonly InstanceFacts[]): Pick<Finding, 'details'> {
  const details = live.flatMap(({ name, shortId, absence }) =>
    typeof absence === 'string' ? [`${name} (${shortId}): ${absence}`] : [],
  )
  return details.length === 0 ? {} : { details }
}

export function judgeFaults(faults: readonly { source: string; reason: string }[]): Finding {
  const check = 'records'
  if (faults.length === 0) {
    return { check, status: 'ok', summary: 'all instance records are valid' }
  }
  return {
    check,
    status: 'warn',
    summary: `${counted(faults.length, 'invalid instance record')}`,
    details: faults.map(({ source, reason }) => `${source}: ${reason}`),
    hint: 'check these files in the folder "instances" of the state directory; remove those that are not yours',
  }
}
