import type { GatewayLimits } from './limits.ts'
import { hostname } from 'node:os'
import { monotonicClock, systemClock, systemTimer } from '../../lib/util/time.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { CatalogFile } from './catalog/catalog-file.ts'
import type { GatewaySelf } from './diagnostics.ts'
import type { EventRing } from './event-ring.ts'
import { LocalDirectory } from './local-directory.ts'
import type { AccountTokens } from '../auth/account-tokens.ts'
import type { NodeHandler } from '../http/app.ts'
import type { Upgrade } from '../http/upgrade.ts'
import type { RefusedRequest } from '../http/refusal-log.ts'
import { JoinedInstances } from './join/joined-instances.ts'
import { Connections } from './relay/connections.ts'
import { openUserView, openView } from './views/view.ts'
import { Views } from './views/views.ts'
import type { KeptSessions } from '../mcp/kept-sessions.ts'
import { activityGauges, type McpEndpoint } from '../mcp/endpoint.ts'
import type { Gauge } from '../http/metrics.ts'
import type { InstanceDirectory } from './instance-directory.ts'

interface GatewayAssemblyParts {
  /** `<registry_dir>/instances` */
  readonly instancesDir: string
  readonly catalog: CatalogFile
  readonly self: GatewaySelf
  readonly ring: EventRing
  readonly tools: boolean
  /** Pass the resources of instances on. */
  readonly aggregate: boolean
  /** Accept instances that join with service tokens of this accounts server. */
  readonly accounts: AccountTokens | undefined
  readonly onRefused: (refused: RefusedRequest) => void
  /** Whether clients of the gateway are asked for a key. */
  readonly mayUseKey: () => boolean
  readonly kept: KeptSessions | undefined
  readonly limits: GatewayLimits
  readonly log: Logger
}

/** What a gateway serves once it has the port. */
export interface AssembledGateway {
  readonly endpoint: McpEndpoint
  /** Answers `/instances/…`. Absent: resources of instances are not passed on. */
  readonly download: NodeHandler | undefined
  /** The handshake of an instance that joins. Absent: none is accepted. */
  readonly acceptJoin: Upgrade | undefined
  /** The gateway stops: instances that joined are told, and end their links. */
  endLinks(): void
  readonly gauges: () => readonly Gauge[]
  /** Looks at nothing any more; the endpoint is closed with the port. */
  close(): Promise<void>
}

/** Resolves after the first scan, so that no client sees a partial list. */
export async function assembleGateway(parts: GatewayAssemblyParts): Promise<AssembledGateway> {
  const { instancesDir, catalog, self, ring, tools, aggregate, mayUseKey, limits, log } = parts
  const clocks = { clock: systemClock, ticks: monotonicClock, timer: systemTimer }
  const machine = { hostname: hostname(), instancesDir, ...clocks, limits, log }
  // A record that names its own port would have it ask itself.
  const isOwn = (url: URL): boolean => Number(url.port) === self.port
  const directory = await LocalDirectory.open({ instancesDir, log, isGateway: true })
  const { accounts: tokens, onRefused } = parts
  const joined = tokens && new JoinedInstances({ directory, tokens, onRefused, log })
  const connections = aggregate
    ? new Connections({ ...machine, directory, isOwn, mayUseKey, joined })
    : undefined
  const common = { connections, catalog, tools, kept: parts.kept, log, self: () => self }
  const views = new Views({
    all: openView({ ...common, ...(joined && { viewer: null }), directory, ring, limits }),
    open: viewer => openUserView({ ...common, limits }, directory, viewer),
    limits,
    ticks: monotonicClock,
    timer: systemTimer,
  })
  return {
    endpoint: views,
    download: aggregate ? (...asked) => views.download(...asked) : undefined,
    acceptJoin: joined?.upgrade,
    gauges: () => [...activityGauges(views.activity()), instanceGauge(directory)],
    endLinks: () => joined?.close(),
    async close() {
      views.close()
      connections?.close()
      await directory.close()
    },
  }
}

function instanceGauge({ entries }: InstanceDirectory): Gauge {
  const health = ['live', 'stale', 'unhealthy', 'dead'] as const
  return {
    name: 'service_cli_instances',
    help: 'Instances of this machine, and those that joined, by health.',
    samples: health.map(label => [
      `{health="${label}"}`,
      entries.filter(({ verdict }) => verdict.health === label).length,
    ]),
  }
}
