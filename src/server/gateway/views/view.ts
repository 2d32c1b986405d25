import type { GatewayLimits } from '../limits.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { monotonicClock, systemClock, systemTimer } from '../../../lib/util/time.ts'
import { ClientTable } from '../../mcp/client-table.ts'
import { Endpoint, type McpEndpoint } from '../../mcp/endpoint.ts'
import type { KeptSessions } from '../../mcp/kept-sessions.ts'
import { serverInstructions } from '../../mcp/instructions.ts'
import { gatewayTools } from '../../mcp/tools/tools.ts'
import type { CatalogFile } from '../catalog/catalog-file.ts'
import type { DiagnosticParts } from '../diagnostics.ts'
import type { NodeHandler } from '../../http/app.ts'
import type { Viewer } from '../../http/authentication.ts'
import { EventRing } from '../event-ring.ts'
import { createGatewayResources } from '../gateway-resources.ts'
import type { InstanceDirectory } from '../instance-directory.ts'
import { AccessTrail } from '../relay/access-trail.ts'
import { relayDownload } from '../relay/instance-downloads.ts'
import { instanceTools } from '../relay/instance-tools.ts'
import { Instances } from '../relay/instances.ts'
import type { Connections } from '../relay/connections.ts'
import { VisibleInstances } from './visible-instances.ts'

interface ViewParts extends Omit<DiagnosticParts, 'activity' | 'limits'> {
  readonly directory: InstanceDirectory
  /** Whether the instance is in the directory now. Absent: none is ever hidden from callers. */
  readonly isVisible?: (instanceId: string) => boolean
  /** Schemes of instances that callers may read; default: all. */
  readonly schemes?: Viewer['schemes']
  /** The caller; null: holders of the gateway's key. Absent: accesses are not logged. */
  readonly viewer?: Viewer | null
  readonly ring: EventRing
  readonly catalog: CatalogFile
  /** Absent: resources of instances are not passed on. */
  readonly connections: Connections | undefined
  readonly tools: boolean
  /** Sessions of the gateway that had the port before. */
  readonly kept?: KeptSessions
  readonly limits: GatewayLimits
  readonly log: Logger
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

/** The part of each bound of the gateway that one user has at most. */
const userShare = 0.1

/** The view of one user, whose bounds and events are their own. */
export function openUserView(
  parts: Omit<ViewParts, 'directory' | 'isVisible' | 'viewer' | 'ring'>,
  all: InstanceDirectory,
  viewer: Viewer,
): View {
  const share = (most: number) => Math.max(1, Math.floor(most * userShare))
  const { maxSessions, maxSubscriptions, maxWaits } = parts.limits
  const limits = {
    ...parts.limits,
    maxSessions: share(maxSessions),
    maxSubscriptions: share(maxSubscriptions),
    maxWaits: share(maxWaits),
  }
  const directory = new VisibleInstances(all, viewer)
  const isVisible = (id: string) => directory.has(id)
  const { schemes } = viewer
  const own = { limits, directory, isVisible, schemes, viewer, ring: new EventRing() }
  const view = openView({ ...parts, ...own })
  return {
    ...view,
    close() {
      view.close()
      void directory.close()
    },
  }
}

export function openView(parts: ViewParts): View {
  const { directory, connections, tools, viewer, limits, log } = parts
  const clocks = { clock: systemClock, ticks: monotonicClock, timer: systemTimer }
  const clients = new ClientTable(clocks)
  const instances =
    connections &&
    new Instances({
      directory,
      connections,
      isVisible: parts.isVisible,
      schemes: parts.schemes,
      trail: viewer === undefined ? undefined : new AccessTrail(directory, viewer, log),
      updated: uri => resources.updated(uri),
    })
  const resources = createGatewayResources({
    ...parts,
    clients,
    instances,
    activity: () => endpoint.activity(),
  })
  const endpoint = new Endpoint({
    registry: resources,
    clients,
    kept: parts.kept,
    resourcesEnabled: true,
    tools: tools
      ? toolParts => (instances ? instanceTools(toolParts, instances) : gatewayTools(toolParts))
      : undefined,
    instructions: serverInstructions(instances ? 'relayed' : 'instances', { hasTools: tools }),
    limits,
    clock: monotonicClock,
    log,
  })
  return {
    endpoint,
    download: instances && ((req, res, { path }) => relayDownload(req, res, path, instances)),
    close() {
      endpoint.close()
      resources.close()
      instances?.close()
    },
  }
}
