import { randomBytes, randomUUID } from 'node:crypto'
import type { GatewayLimits } from '../../../lib/config/gateway-limits.ts'
import type { Limits } from '../../../lib/config/limits.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import type { Clock, Timer } from '../../../lib/util/time.ts'
import { openDatabase } from '../../database/pool.ts'
import type { DatabaseSettings } from '../../database/settings.ts'
import type { EventRing } from '../event-ring.ts'
import { SharedJoined } from '../join/shared-joined.ts'
import { createPeerEndpoint } from './peer-endpoint.ts'
import { Peers } from './peers.ts'

/** How gateways share the instances that join. */
export interface SharedSettings {
  readonly database: DatabaseSettings
  /** Where the others reach this one: http or https, without a slash at the end. */
  readonly peerUrl: string
}

/** Longest wait for a connection to the database. */
const waitMs = 5000

/** Opens the directory that gateways share, and the endpoint at which they ask each other. */
export async function openShared(
  settings: SharedSettings,
  parts: {
    ring: EventRing
    limits: Limits & GatewayLimits
    clock: Clock
    timer: Timer
    log: Logger
  },
) {
  const { log, limits } = parts
  const database = await openDatabase({ settings: settings.database, log, waitMs })
  const secret = randomBytes(32).toString('base64url')
  const self = { id: randomUUID(), address: settings.peerUrl, secret }
  const peers = new Peers(parts)
  try {
    const joined = await SharedJoined.open({ ...parts, database, self, peers })
    const linkOf = (instanceId: string) => joined.linkOf(instanceId)
    return {
      joined,
      answerPeer: createPeerEndpoint({ secret, linkOf, limits }),
      readyFacts: () => ({ database: joined.outage.facts }),
    }
  } catch (error) {
    peers.close()
    await database.close()
    throw error
  }
}

export type Shared = Awaited<ReturnType<typeof openShared>>
