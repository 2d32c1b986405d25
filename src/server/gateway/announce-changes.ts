import { minPrefixChars, plainId, shortId } from '../../lib/instances/select-instance.ts'
import { systemTimer, type Timer } from '../../lib/util/time.ts'
import type { ServedResources } from '../resources/served-resources.ts'
import type { EventRing, GatewayEvent } from './event-ring.ts'
import { directoryUris } from './gateway-producer.ts'
import type { InstanceChange, InstanceDirectory, InstanceEntry } from './instance-directory.ts'
import { rowStatus } from './instance-rows.ts'

/** Subscribers are told at most once in this time, however many instances change. */
const gatherMs = 50

interface AnnounceParts {
  readonly directory: InstanceDirectory
  readonly served: Pick<ServedResources, 'updated' | 'listChanged'>
  readonly ring: EventRing
  readonly timer?: Timer
}

/** Tells subscribers and the ring what changes in the directory. Returns the stop. */
export function announceInstances(parts: AnnounceParts): () => void {
  const { directory, served, ring, timer = systemTimer } = parts
  const changed = new Set<string>()
  let isOtherList = false
  let cancel: (() => void) | null = null

  function tell(): void {
    cancel = null
    for (const uri of directoryUris) served.updated(uri)
    for (const id of changed) announceInstance(id, served)
    changed.clear()
    if (isOtherList) served.listChanged()
    isOtherList = false
  }

  const stop = directory.onChange(changes => {
    for (const change of changes) {
      const event = eventOf(change)
      if (event !== null) ring.record(event)
      if (!('entry' in change)) continue
      changed.add(change.entry.record.instanceId)
      isOtherList ||= changesList(change)
    }
    cancel ??= timer.after(gatherMs, tell)
  })
  return () => {
    stop()
    cancel?.()
  }
}

/** Subscribers may have selected it by any number of its first digits. */
function announceInstance(instanceId: string, served: Pick<ServedResources, 'updated'>): void {
  const digits = plainId(instanceId)
  for (let length = minPrefixChars; length <= digits.length; length++) {
    served.updated(`gateway://instances/${digits.slice(0, length)}`)
  }
}

/** Whether an instance came or went: dead ones count as removed. */
function changesList(change: Extract<InstanceChange, { readonly entry: InstanceEntry }>): boolean {
  const isAlive = ({ verdict }: InstanceEntry) => verdict.health !== 'dead'
  const was = change.kind !== 'appeared' && isAlive(change.before)
  const is = change.kind !== 'gone' && isAlive(change.entry)
  return was !== is
}

/** What a change of the directory is as an event of the gateway; null: nothing to remember. */
function eventOf(change: InstanceChange): GatewayEvent | null {
  if ('fault' in change) {
    const { source, reason } = change.fault
    const event = change.kind === 'fault' ? 'record_fault' : 'record_mended'
    return { event, dccType: 'unknown', instanceId: source, reason }
  }
  const { dccType, instanceId, joined } = change.entry.record
  const { reason, health } = change.entry.verdict
  const facts = { dccType, instanceId: shortId(instanceId), reason }
  if (change.kind === 'appeared') return { event: 'instance_appeared', ...facts }
  if (change.kind === 'gone') {
    if (health !== 'dead') {
      return { event: 'instance_gone', ...facts, reason: 'its record was removed' }
    }
    // One that joined left no files here.
    return { event: joined === null ? 'ghost_reaped' : 'instance_gone', ...facts }
  }
  const [before, now] = [rowStatus(change.before), rowStatus(change.entry)]
  if (now === before) return null
  switch (now) {
    case 'dead':
      return { event: 'instance_died', ...facts }
    case 'stale':
      return { event: 'instance_stale', ...facts }
    case 'unreachable':
      return { event: 'probe_unreachable', ...facts }
    default:
      if (change.before.verdict.health === 'live') return null
      return { event: 'instance_recovered', ...facts }
  }
}
