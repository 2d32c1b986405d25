import { hostname } from 'node:os'
import { monotonicClock, systemClock, systemTimer } from '../../lib/util/time.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { CatalogFile } from './catalog/catalog-file.ts'
import type { GatewaySelf } from './diagnostics.ts'
import type { EventRing } from './event-ring.ts'
import { openFsDirectory } from './fs-directory.ts'
import { GatewayResources } from './gateway-resources.ts'
import type { GatewayLimits } from '../../lib/config/gateway-limits.ts'
import { createProbedDirectory } from './probed-directory.ts'
import { Probes } from './probes.ts'
import { startReaper } from './reap.ts'
import type { AccountsUrl } from '../../lib/config/accounts-url.ts'
import type { JoinEndpoint } from '../mcp/app.ts'
import type { RefusedRequest } from '../http/refusal-log.ts'
import { JoinTokens } from './join/join-tokens.ts'
import { createJoinUpgrade } from './join/join-upgrade.ts'
import { Joins } from './join/joins.ts'
import { OwnJoined } from './join/own-joined.ts'
import { openShared, type Shared, type SharedSettings } from './peers/open-shared.ts'
import { mergeDirectories } from './merged-directory.ts'
import { gatewayInstructions } from './instructions.ts'
import type { ArtefactDownload } from '../http/artefact-download.ts'
import { relayDownload } from './relay/instance-downloads.ts'
import { instanceTools } from './relay/instance-tools.ts'
import { Instances } from './relay/instances.ts'
import { gatewayTools } from '../mcp/tools/tools.ts'
import { ClientTable } from '../mcp/client-table.ts'
import { activityGauges, createMcpEndpoint, type McpEndpoint } from '../mcp/endpoint.ts'
import type { MaybePromise } from '../resources/maybe-promise.ts'
import type { Gauge } from '../http/metrics.ts'
import type { InstanceDirectory } from './instance-directory.ts'
import type { Limits } from '../../lib/config/limits.ts'

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
  readonly acceptJoins: AccountsUrl | undefined
  /** Several gateways share the instances that joined. */
  readonly shared: SharedSettings | undefined
  readonly onRefused: (refused: RefusedRequest) => void
  /** Are clients of the gateway asked for a key? */
  readonly mayUseKey: () => MaybePromise<boolean>
  readonly limits: Limits & GatewayLimits
  readonly log: Logger
}

/** What a gateway serves once it has the port. */
export interface AssembledGateway {
  readonly endpoint: McpEndpoint
  /** Absent: resources of instances are not passed on. */
  readonly download: ArtefactDownload | undefined
  /** The handshake of an instance that joins. Absent: none is accepted. */
  readonly acceptJoin: JoinEndpoint['upgrade'] | undefined
  /** What other gateways ask. Absent: there are none. */
  readonly answerPeer: Shared['answerPeer'] | undefined
  /** For `/readyz`. */
  readonly readyFacts: () => object
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
  const files = await openFsDirectory(machine)
  const probes = new Probes({ ...machine, directory: files, isOwn })
  const local = createProbedDirectory({ directory: files, probes, limits, log })
  const stopReaper = startReaper({ ...machine, directory: local })
  const joining =
    parts.acceptJoins && (await openJoins({ ...parts, accounts: parts.acceptJoins, local }))
  const directory = joining ? mergeDirectories(local, joining.joined) : local
  const clients = new ClientTable(clocks)
  const instances = aggregate
    ? new Instances({
        ...{ ...machine, directory, isOwn, mayUseKey },
        joined: joining?.joined,
        updated: uri => resources.instanceUpdated(uri),
        listChanged: () => resources.instanceListChanged(),
      })
    : undefined
  const resources = new GatewayResources({
    clients,
    instances,
    directory,
    ring,
    catalog,
    limits,
    log,
    self: () => self,
    activity: () => endpoint.activity(),
    probeOf: id => probes.of(id),
    whyNotProbed: entry => probes.whyNot(entry),
  })
  const endpoint = createMcpEndpoint({
    registry: resources,
    clients,
    resourcesEnabled: true,
    tools: tools
      ? toolParts => (instances ? instanceTools(toolParts, instances) : gatewayTools(toolParts))
      : undefined,
    instructions: () => gatewayInstructions(tools, instances),
    limits,
    clock: monotonicClock,
    log,
  })
  return {
    endpoint,
    download: instances && ((req, res, path) => relayDownload(req, res, path, instances)),
    acceptJoin: joining?.accept,
    answerPeer: joining?.shared?.answerPeer,
    readyFacts: () => joining?.shared?.readyFacts() ?? {},
    gauges: () => [
      ...activityGauges(endpoint.activity()),
      instanceGauge(directory),
      ...(joining ? [linkGauge(joining.joins)] : []),
    ],
    endLinks: () => joining?.joins.endLinks(),
    async close() {
      resources.close()
      joining?.tokens.close()
      await joining?.joins.close()
      await Promise.all([stopReaper(), instances?.close(), directory.close()])
    },
  }
}

/** What accepts instances that join. */
async function openJoins({
  accounts,
  local,
  shared: settings,
  limits,
  log,
  onRefused,
}: Pick<GatewayAssemblyParts, 'shared' | 'limits' | 'log' | 'onRefused'> & {
  readonly accounts: AccountsUrl
  readonly local: InstanceDirectory
}) {
  const tokens = new JoinTokens({ accounts, limits, timer: systemTimer })
  const parts = { limits, clock: systemClock, timer: systemTimer, log }
  const shared = settings && (await openShared(settings, parts))
  const joined = shared?.joined ?? new OwnJoined(parts)
  const joins = new Joins({ ...{ local, tokens, directory: joined }, ...parts })
  const accept = createJoinUpgrade({
    ...{ tokens, limits, onRefused },
    full: principal => joins.full(principal),
    accept: (...link) => joins.accept(...link),
  })
  return { joined, shared, joins, tokens, accept }
}

function linkGauge({ links }: Joins): Gauge {
  return {
    name: 'service_cli_join_links',
    help: 'Links of instances that joined.',
    values: [{ value: links }],
  }
}

function instanceGauge({ entries }: InstanceDirectory): Gauge {
  const health = ['live', 'stale', 'unhealthy', 'dead'] as const
  return {
    name: 'service_cli_instances',
    help: 'Instances of this machine, and those that joined, by health.',
    by: 'health',
    values: health.map(label => ({
      label,
      value: entries.filter(({ verdict }) => verdict.health === label).length,
    })),
  }
}
