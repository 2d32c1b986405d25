import { absenceText, type ApplicationState } from '../../lib/instances/instance.ts'
import { counted } from '../../lib/util/amounts.ts'
import type { Finding } from './finding.ts'

/** The judged state of an instance. */
export interface InstanceFacts {
  readonly shortId: string
  readonly name: string
  readonly health: 'live' | 'stale' | 'unhealthy' | 'dead'
  readonly reason: string
  /** Of the server. */
  readonly pid: number
  /** `what`: its kind and version. `pid`: its own process, where known. */
  readonly application: ApplicationState & { readonly what: string; readonly pid: number | null }
}

/** Judges all instances. `answering`: short ids of instances that served a request. */
export function judgeInstances(
  instances: InstanceFacts[],
  answering: Set<string> = new Set(),
): Finding {
  const check = 'instances'
  const there = instances.filter(({ health }) => health !== 'dead')
  const dead = instances.length - there.length
  const ended = dead === 0 ? '' : `; ${counted(dead, 'record')} of ended ones`
  if (there.length === 0) {
    const hint = 'start one beside your application: service-cli serve'
    return { check, status: 'ok', summary: `no instance runs${ended}`, hint }
  }
  const details = there.map(instance => stateText(instance, answering))
  const count = counted(there.length, 'instance')
  for (const { state, hint, fits } of troubles) {
    const { length } = there.filter(one => fits(one, answering))
    if (length === 0) continue
    const which = length === there.length ? count : `${length} of ${count}`
    const summary = `${which} ${state}${ended}`
    return { check, status: 'warn', summary, details, hint }
  }
  return { check, status: 'ok', summary: `${count} running${ended}`, details }
}

interface Trouble {
  readonly state: string
  readonly hint: string
  readonly fits: (instance: InstanceFacts, answering: Set<string>) => boolean
}

/** The worst first. */
const troubles: readonly Trouble[] = [
  {
    state: 'not well',
    hint: 'end a hanging process by its id; its record is removed automatically',
    fits: ({ health, shortId }, answering) => health !== 'live' && !answering.has(shortId),
  },
  {
    // The server is healthy, but the state directory may be read-only.
    state: 'with a stale record',
    hint: 'make the state directory writable, so that gateways and commands find the instance',
    fits: ({ health }) => health !== 'live',
  },
  {
    state: 'without application',
    hint: 'open the application again and press Connect; until then clients read its last scene',
    fits: ({ application }) => absenceText(application) !== null,
  },
]

function stateText(
  { shortId, name, health, reason, pid, application }: InstanceFacts,
  answering: Set<string>,
): string {
  const server = `the server of ${name} (${shortId}), process ${pid},`
  if (health === 'live') return `${server} runs; ${applicationText(application)}`
  const is = answering.has(shortId) ? 'answers, but its record is' : 'is'
  return `${server} ${is} ${health}: ${reason}`
}

function applicationText(application: InstanceFacts['application']): string {
  const { connected, what, pid } = application
  if (!connected) return absenceText(application) ?? 'no application has connected yet'
  return pid === null ? `${what} is connected` : `${what}, process ${pid}, is connected`
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
