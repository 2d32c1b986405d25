import { minPrefixChars, shortId } from '../../lib/instances/select-instance.ts'
import type { Timer } from '../../lib/util/time.ts'
import type { ServedResources } from '../resources/served-resources.ts'
import type { CatalogState } from './catalog/catalog-resources.ts'
import type { EventRing, GatewayEvent, GatewayEventKind } from './event-ring.ts'
import { catalogUri, instancesUri, metricsUri, processUri } from './gateway-uris.ts'
import type { InstanceChange, InstanceDirectory, InstanceEntry } from './instance-directory.ts'
import { idPrefix } from './instance-query.ts'
import { rowStatus, type RowStatus } from './instance-rows.ts'

interface AnnounceParts {
  readonly directory: InstanceDirectory
  readonly served: Pick<ServedResources, 'updated' | 'listChanged'>
  readonly ring: EventRing
  readonly timer: Timer
  /** Subscribers are told at most once in this time, however many instances change. */
  readonly gatherMs: number
}

/** Tells subscribers and the ring what changes in the directory. Returns the stop. */
export function announceInstances(parts: AnnounceParts): () => void {
  const { directory, served, ring, timer, gatherMs } = parts
  const statuses = new Map<string, RowStatus>()
  for (const entry of directory.entries) statuses.set(entry.record.instanceId, rowStatus(entry))

  const note = (change: InstanceChange): boolean => {
    const id = 'entry' in change ? change.entry.record.instanceId : null
    const before = id === null ? undefined : statuses.get(id)
    const event = eventOf(change, before)
    if (event !== null) ring.record(event)
    if (id === null || !('entry' in change)) return false
    const after = change.kind === 'gone' ? undefined : rowStatus(change.entry)
    if (after === undefined) statuses.delete(id)
    else statuses.set(id, after)
    return isThere(before) !== isThere(after)
  }

  const pending = new Set<string>()
  let cameOrWent = false
  let isDue = false
  let cancelRest: (() => void) | null = null

  const notify = (): void => {
    const ids = [...pending]
    const isOtherList = cameOrWent
    pending.clear()
    cameOrWent = isDue = false
    cancelRest = timer.after(gatherMs, () => {
      cancelRest = null
      if (isDue) notify()
    })
    served.updated(instancesUri)
    for (const id of ids) announceInstance(id, served)
    served.updated(processUri)
    served.updated(metricsUri)
    if (isOtherList) served.listChanged()
  }
  const stop = directory.onChange(changes => {
    // All are recorded before listeners run: they find the events of the changes they hear of.
    for (const change of changes) if (note(change)) cameOrWent = true
    for (const id of changedIds(changes)) pending.add(id)
    isDue = true
    if (cancelRest === null) notify()
  })
  return () => {
    stop()
    cancelRest?.()
  }
}

/** Tells subscribers of the catalog and of each entry that is another now. */
export function announceCatalog(
  before: CatalogState,
  now: CatalogState,
  served: Pick<ServedResources, 'updated'>,
): void {
  served.updated(catalogUri)
  const old = new Map(before.entries.map(entry => [entry.name, JSON.stringify(entry)]))
  for (const entry of now.entries) {
    if (old.get(entry.name) !== JSON.stringify(entry)) served.updated(`${catalogUri}/${entry.name}`)
    old.delete(entry.name)
  }
  for (const name of old.keys()) served.updated(`${catalogUri}/${name}`)
}

/** Subscribers may have selected it by any number of its first digits. */
function announceInstance(instanceId: string, served: Pick<ServedResources, 'updated'>): void {
  const digits = idPrefix(instanceId)
  if (digits === null) return
  for (let length = minPrefixChars; length <= digits.length; length++) {
    served.updated(`${instancesUri}/${digits.slice(0, length)}`)
  }
}

function changedIds(changes: InstanceChange[]): Set<string> {
  return new Set(
    changes.flatMap(change => ('entry' in change ? [change.entry.record.instanceId] : [])),
  )
}

/** Dead instances count as removed. */
function isThere(status: RowStatus | undefined): boolean {
  return status !== undefined && status !== 'dead'
}

/** What a change of the directory is as an event of the gateway; null: nothing to remember. */
export function eventOf(
  change: InstanceChange,
  before: RowStatus | undefined,
): GatewayEvent | null {
  switch (change.kind) {
    case 'appeared':
      return instanceEvent('instance_appeared', change.entry)
    case 'gone':
      return goneEvent(change.entry)
    case 'changed': {
      const kind = turnOf(rowStatus(change.entry), before)
      return kind === null ? null : instanceEvent(kind, change.entry)
    }
    case 'faults':
      return null
  }
}

/** A dead instance is removed when its leftovers are deleted, or after a while. */
function goneEvent(entry: InstanceEntry): GatewayEvent {
  if (entry.verdict.health === 'dead') {
    // One that joined left no files here.
    return instanceEvent(entry.record.joined === null ? 'ghost_reaped' : 'instance_gone', entry)
  }
  return { ...instanceEvent('instance_gone', entry), reason: 'its record was removed' }
}

function turnOf(now: RowStatus, before: RowStatus | undefined): GatewayEventKind | null {
  if (now === before) return null
  switch (now) {
    case 'dead':
      return 'instance_died'
    case 'stale':
      return 'instance_stale'
    case 'unreachable':
      return 'probe_unreachable'
    default:
      return before === 'stale' || before === 'unreachable' || before === 'dead'
        ? 'instance_recovered'
        : null
  }
}

function instanceEvent(event: GatewayEventKind, { record, verdict }: InstanceEntry): GatewayEvent {
  const { dccType, instanceId } = record
  return { event, dccType, instanceId: shortId(instanceId), reason: verdict.reason }
}
