import { minPrefixChars } from '../../lib/instances/select-instance.ts'
import type { ResourceDesk } from '../resources/desk.ts'
import type { CatalogState } from './catalog/catalog-resources.ts'
import { eventOf } from './change-events.ts'
import type { EventRing } from './event-ring.ts'
import { catalogUri, instancesUri, metricsUri, processUri } from './gateway-uris.ts'
import type { InstanceChange, InstanceDirectory } from './instance-directory.ts'
import { idPrefix } from './instance-lookup.ts'
import { rowStatus, type RowStatus } from './instance-row.ts'

type Announcer = Pick<ResourceDesk, 'updated' | 'listChanged'>

/** Tells subscribers and the ring what changes in the directory. Returns the stop. */
export function announceInstances(
  directory: InstanceDirectory,
  desk: Announcer,
  ring: EventRing,
): () => void {
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

  return directory.onChange(changes => {
    // All are noted before anybody is told: a reader finds the events of what it was told.
    const cameOrWent = changes.map(note).includes(true)
    desk.updated(instancesUri)
    for (const id of changedIds(changes)) announceInstance(id, desk)
    desk.updated(processUri)
    desk.updated(metricsUri)
    if (cameOrWent) desk.listChanged()
  })
}

/** Tells subscribers of the catalog and of each entry that is another now. */
export function announceCatalog(before: CatalogState, now: CatalogState, desk: Announcer): void {
  desk.updated(catalogUri)
  const old = new Map(before.entries.map(entry => [entry.name, JSON.stringify(entry)]))
  for (const entry of now.entries) {
    if (old.get(entry.name) !== JSON.stringify(entry)) desk.updated(`${catalogUri}/${entry.name}`)
    old.delete(entry.name)
  }
  for (const name of old.keys()) desk.updated(`${catalogUri}/${name}`)
}

/** Subscribers may have selected it by any number of its first digits. */
function announceInstance(instanceId: string, desk: Announcer): void {
  const digits = idPrefix(instanceId)
  if (digits === null) return
  for (let length = minPrefixChars; length <= digits.length; length++) {
    desk.updated(`${instancesUri}/${digits.slice(0, length)}`)
  }
}

function changedIds(changes: readonly InstanceChange[]): Set<string> {
  return new Set(
    changes.flatMap(change => ('entry' in change ? [change.entry.record.instanceId] : [])),
  )
}

/** A dead one is gone for whoever looks for somebody to talk to. */
function isThere(status: RowStatus | undefined): boolean {
  return status !== undefined && status !== 'dead'
}
