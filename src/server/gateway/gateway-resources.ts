import type { Limits } from '../../lib/config/limits.ts'
import { shortId } from '../../lib/instances/select-instance.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { systemTimer, type Timer } from '../../lib/util/time.ts'
import type { ClientTable } from '../mcp/client-table.ts'
import { clientsProducer, clientsUri } from '../resources/clients.ts'
import { ServedResources } from '../resources/served-resources.ts'
import type { EventRing, GatewayEvent } from './event-ring.ts'
import { directoryUris, GatewayProducer, type GatewayProducerParts } from './gateway-producer.ts'
import type { InstanceChange, InstanceEntry } from './instance-directory.ts'
import type { Instances } from './relay/instances.ts'

/** Subscribers are told at most once in this time, however many instances change. */
const gatherMs = 50

interface GatewayParts extends GatewayProducerParts {
  readonly ring: EventRing
  readonly clients: ClientTable
  readonly limits: Pick<Limits, 'pageSize'>
  readonly log?: Logger
  readonly timer?: Timer
  /** Absent: the resources of instances are not passed on. */
  readonly instances?: Instances
}

/** The resources of a gateway, for the same endpoint that serves those of an application. */
export function createGatewayResources(parts: GatewayParts): ServedResources {
  const { ring, clients, instances } = parts
  const producers = {
    gateway: new GatewayProducer(parts),
    resources: ring,
    server: clientsProducer(clients),
    ...(instances && { instance: instances }),
  }
  const served = new ServedResources({
    ...parts,
    producers,
    notFoundHint: instances ? instancesHint : notFoundHint,
  })
  clients.watch(() => served.updated(clientsUri))
  served.onClose(() => clients.close())
  served.onClose(announceInstances(served, parts))
  return served
}

const notFoundHint =
  'this is the gateway: gateway://instances has the instances, each with its id and mcp_url'
/** With the resources of instances at this address. */
const instancesHint =
  'this is the gateway: what an instance calls scheme://path is instance://<id>/scheme/path here, and gateway://instances has the ids'

/** Tells subscribers and the ring what changes in the directory. Returns the stop. */
function announceInstances(
  served: ServedResources,
  { directory, ring, timer = systemTimer }: GatewayParts,
): () => void {
  const changed = new Set<string>()
  let isOtherList = false
  let cancel: (() => void) | null = null

  function notify(): void {
    cancel = null
    for (const uri of [...directoryUris, ...changed]) served.updated(uri)
    changed.clear()
    if (isOtherList) served.listChanged()
    isOtherList = false
  }

  const stop = directory.onChange(changes => {
    for (const change of changes) {
      const event = eventOf(change)
      if (event !== null) ring.record(event)
      const { kind, entry, before } = change
      changed.add(`gateway://instances/${entry.record.instance_id}`)
      isOtherList ||= isAlive(before) !== (kind !== 'gone' && isAlive(entry))
    }
    cancel ??= timer.after(gatherMs, notify)
  })
  return () => {
    stop()
    cancel?.()
  }
}

/** Dead ones count as removed. */
function isAlive(entry: InstanceEntry | undefined): boolean {
  return entry !== undefined && entry.verdict.health !== 'dead'
}

const changeEvents = {
  live: 'instance_recovered',
  stale: 'instance_stale',
  unhealthy: 'probe_unreachable',
  dead: 'instance_died',
} as const

/** What a change of the directory is as an event of the gateway; null: nothing to remember. */
function eventOf({ kind, entry, before }: InstanceChange): GatewayEvent | null {
  const { dcc_type: dccType, instance_id: id } = entry.record
  const { reason, health } = entry.verdict
  const facts = { dccType, instanceId: shortId(id), reason }
  if (kind === 'appeared') return { event: 'instance_appeared', ...facts }
  if (kind === 'changed') {
    return health === before?.verdict.health ? null : { event: changeEvents[health], ...facts }
  }
  // Its record was removed, or it is hidden from the user.
  const ended = health === 'dead' ? reason : 'it is not listed any more'
  return { event: 'instance_gone', ...facts, reason: ended }
}
