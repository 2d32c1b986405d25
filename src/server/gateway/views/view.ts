import type { InstanceAccess, Logger } from '../../../lib/util/logger.ts'
import { monotonicClock } from '../../../lib/util/time.ts'
import type { NodeHandler } from '../../http/app.ts'
import type { Viewer } from '../../http/authentication.ts'
import { ClientTable } from '../../mcp/client-table.ts'
import { Endpoint, type McpEndpoint } from '../../mcp/endpoint.ts'
import { serverInstructions } from '../../mcp/instructions.ts'
import type { KeptSessions } from '../../mcp/kept-sessions.ts'
import type { ServerLimits } from '../../http/limits.ts'
import { gatewayTools } from '../../mcp/tools/tools.ts'
import type { Catalog } from '../catalog.ts'
import { EventRing } from '../event-ring.ts'
import type { GatewaySelf } from '../gateway-producer.ts'
import { createGatewayResources } from '../gateway-resources.ts'
import { type Finding, InstanceDirectory, type InstanceEntry } from '../instance-directory.ts'
import type { Connections } from '../relay/connections.ts'
import { relayDownload } from '../relay/instance-downloads.ts'
import { instanceTools } from '../relay/instance-tools.ts'
import { Instances } from '../relay/instances.ts'

/** What all views of a gateway share. */
export interface ViewParts {
  readonly catalog: Catalog
  /** Absent: resources of instances are not passed on. */
  readonly connections: Connections | undefined
  readonly tools: boolean
  /** Sessions of the gateway that had the port before. */
  readonly kept?: KeptSessions
  readonly self: GatewaySelf
  readonly limits: ServerLimits
  readonly log: Logger
  readonly accessLog: (access: InstanceAccess) => void
}

/**
 * What the gateway serves of one directory of instances. Sessions, streams, names, events and counts
 * of two views have nothing in common.
 */
export interface View {
  readonly endpoint: McpEndpoint
  /** What follows `/instances/`. Absent: resources of instances are not passed on. */
  readonly download: NodeHandler | undefined
  close(): void
}

/**
 * `viewer`: the user, who sees some of the instances; null: holders of the gateway's key, who see all.
 * Absent: accesses are not logged.
 */
export function openView(
  parts: ViewParts,
  all: InstanceDirectory,
  viewer?: Viewer | null,
  ring = new EventRing(),
): View {
  const { connections, tools, limits, log, accessLog } = parts
  const visible = viewer ? new VisibleInstances(all, viewer) : null
  const directory = visible ?? all
  const clients = new ClientTable()
  const instances =
    connections &&
    new Instances({
      directory,
      connections,
      viewer,
      accessLog,
      updated: uri => resources.updated(uri),
    })
  const resources = createGatewayResources({
    ...parts,
    directory,
    ring,
    clients,
    instances,
    activity: () => endpoint.activity(),
  })
  const endpoint = new Endpoint({
    registry: resources,
    clients,
    kept: parts.kept,
    resourcesEnabled: true,
    tools: tools ? (instances ? instanceTools(instances) : gatewayTools) : [],
    instructions: serverInstructions(instances ? 'relayed' : 'instances', { hasTools: tools }),
    limits,
    clock: monotonicClock,
    log,
  })
  return {
    endpoint,
    download: instances && ((...asked) => relayDownload(...asked, instances)),
    close() {
      endpoint.close()
      resources.close()
      instances?.close()
      visible?.close()
    },
  }
}

/**
 * The instances that one user may see, as a directory: those that are theirs, their team's, or for
 * all. Those of the gateway's own machine are for holders of its key. One that is hidden is gone, as
 * the user last saw it.
 */
export class VisibleInstances extends InstanceDirectory {
  /** The directory of all goes on. */
  readonly close: () => void
  readonly #viewer: Viewer

  constructor(all: InstanceDirectory, viewer: Viewer) {
    super()
    this.#viewer = viewer
    this.update(all.entries.map(entry => this.#findingOf(entry)))
    this.close = all.onChange(changes => {
      this.update(changes.map(({ entry, kind }) => this.#findingOf(entry, kind === 'gone')))
    })
  }

  #findingOf(entry: InstanceEntry, isGone = false): [id: string, Finding] {
    const { instance_id: instanceId } = entry.record
    if (!isGone) return [instanceId, sees(this.#viewer, entry) ? { entry } : { isHidden: true }]
    const seen = this.entryOf(instanceId)
    // As the user last saw it, and why it ended.
    return [instanceId, seen ? { ended: { ...seen, verdict: entry.verdict } } : {}]
  }
}

function sees(viewer: Viewer, { record: { joined } }: InstanceEntry): boolean {
  if (joined === undefined) return false
  if (joined.visibility === 'all' || joined.accountId === viewer.accountId) return true
  return joined.visibility === 'team' && joined.team !== null && joined.team === viewer.team
}
