import type { Limits } from '../../lib/config/limits.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { Timer } from '../../lib/util/time.ts'
import type { ClientTable } from '../mcp/client-table.ts'
import { clientsProducer, clientsUri } from '../resources/clients.ts'
import { ServedResources } from '../resources/served-resources.ts'
import { announceInstances } from './announce-changes.ts'
import type { EventRing } from './event-ring.ts'
import { GatewayProducer, type GatewayProducerParts } from './gateway-producer.ts'
import type { Instances } from './relay/instances.ts'

interface GatewayParts extends GatewayProducerParts {
  readonly ring: EventRing
  /** Default: `server://clients` does not exist. */
  readonly clients?: ClientTable
  readonly limits: Pick<Limits, 'pageSize'>
  readonly log?: Logger
  readonly timer?: Timer
  /** Absent: the resources of instances are not passed on. */
  readonly instances?: Instances
}

/** The resources of a gateway, for the same endpoint that serves those of an application. */
export function createGatewayResources(parts: GatewayParts): ServedResources {
  const { directory, ring, clients, instances, timer } = parts
  const producers = {
    gateway: new GatewayProducer(parts),
    resources: ring,
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
  served.onClose(announceInstances({ directory, served, ring, timer }))
  return served
}

const whereToLook =
  'this is the gateway: gateway://instances has the instances, each with its id and mcp_url'
/** With the resources of instances at this address. */
const whereToLookHere =
  'this is the gateway: what an instance calls scheme://path is instance://<id>/scheme/path here, and gateway://instances has the ids'
