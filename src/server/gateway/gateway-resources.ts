import { maxGatewayEvents } from './event-ring.ts'
import { type Clock, systemClock, systemTimer, type Timer } from '../../lib/util/time.ts'
import { ServedResources } from '../resources/served-resources.ts'
import { announceCatalog, announceInstances } from './announce-changes.ts'
import type { CatalogFile } from './catalog/catalog-file.ts'
import { CatalogResources } from './catalog/catalog-resources.ts'
import { type DiagnosticParts, DiagnosticResources } from './diagnostics.ts'
import { InstanceRows } from './instance-rows.ts'
import type { ClientTable } from '../mcp/client-table.ts'
import type { EventRing } from './event-ring.ts'
import { GatewayProducer } from './gateway-producer.ts'
import type { InstanceDirectory } from './instance-directory.ts'
import { InstanceResources } from './instance-resources.ts'
import type { SchemeProducer } from '../resources/scheme-producer.ts'
import { clientsProducer, clientsUri } from '../resources/clients.ts'
import { ResourceNotFound } from '../resources/errors.ts'
import { KeptAnswers } from '../resources/kept-answers.ts'
import type { Content, Template } from '../resources/producer.ts'
import { limitParameter } from '../resources/query-parameters.ts'
import type { ResourceUri } from '../resources/resource-uri.ts'
import { eventTemplates } from './gateway-uris.ts'
import type { Instances } from './relay/instances.ts'

interface GatewayParts extends DiagnosticParts {
  readonly directory: InstanceDirectory
  readonly ring: EventRing
  readonly catalog: Pick<CatalogFile, 'source' | 'state' | 'refresh' | 'follow'>
  /** Default: `server://clients` does not exist. */
  readonly clients?: ClientTable
  readonly clock?: Clock
  readonly timer?: Timer
  /** Absent: the resources of instances are not passed on. */
  readonly instances?: Instances
}

/** The resources of a gateway, for the same endpoint that serves those of an application. */
export function createGatewayResources(parts: GatewayParts): ServedResources {
  const { directory, ring, catalog, clients, instances, limits } = parts
  const { clock = systemClock, timer = systemTimer } = parts
  const rows = new InstanceRows(directory)
  const gateway = new GatewayProducer({
    rows,
    instances: new InstanceResources(rows),
    diagnostics: new DiagnosticResources(rows, clock, parts),
    catalog: new CatalogResources(catalog),
  })
  const producers = {
    gateway,
    resources: new EventResources(ring),
    ...(clients && { server: clientsProducer(clients) }),
    ...(instances && { instance: instances }),
  }
  const served = new ServedResources({
    ...parts,
    producers,
    whereToLook: instances ? whereToLookHere : whereToLook,
  })
  clients?.onChange(() => served.updated(clientsUri))
  served.onClose(() => clients?.close())
  const gatherMs = limits.recordGatherMs
  served.onClose(announceInstances({ directory, served, ring, timer, gatherMs }))
  served.onClose(catalog.follow((before, now) => announceCatalog(before, now, served)))
  return served
}

const whereToLook =
  'this is the gateway: gateway://instances has the instances, each with its id and mcp_url'
/** With the resources of instances at this address. */
const whereToLookHere =
  'this is the gateway: what an instance calls scheme://path is instance://<id>/scheme/path here, and gateway://instances has the ids'

/** The scheme `resources://`: `resources://gateway/events`, read and never pushed. */
class EventResources implements SchemeProducer {
  readonly #ring: EventRing
  readonly #kept: KeptAnswers

  constructor(ring: EventRing) {
    this.#ring = ring
    this.#kept = new KeptAnswers('application/jsonl')
  }

  templates(): readonly Template[] {
    return eventTemplates
  }

  checkParameters(uri: ResourceUri): void {
    this.#limitOf(uri)
  }

  read(uri: ResourceUri): readonly Content[] {
    if (uri.path !== 'gateway/events') throw new ResourceNotFound(uri.text)
    const limit = this.#limitOf(uri)
    return this.#kept.get(this.#ring.changes, uri.text, () => this.#ring.text(limit))
  }

  #limitOf(uri: ResourceUri): number {
    const most = maxGatewayEvents
    return limitParameter(uri, most, most)
  }
}
