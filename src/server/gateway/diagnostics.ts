import { instanceStaleMs } from '../../lib/instances/instance.ts'
import { reapAfterMs } from '../../lib/instances/reap.ts'
import { toRfc3339 } from '../../lib/util/time.ts'
import { version } from '../../lib/util/version.ts'
import type { EndpointActivity } from '../mcp/endpoint.ts'
import type { InstanceDirectory, InstanceEntry } from './instance-directory.ts'
import { isOfType } from './instance-query.ts'
import { probeEveryMs, reapEveryMs } from './local-directory.ts'
import { probeTimeoutMs } from './probes.ts'

/** What the gateway's process knows of itself. */
export interface GatewaySelf {
  readonly host: string
  readonly port: number
  readonly mcpUrl: string
  /** Milliseconds since the epoch. */
  readonly startedMs: number
}

/** Number of instances by health, for each health there is. */
export function countByHealth(entries: readonly InstanceEntry[]) {
  const counts = { live: 0, stale: 0, unhealthy: 0, dead: 0 }
  for (const { verdict } of entries) counts[verdict.health]++
  return counts
}

/** `gateway://diagnostics/process`; with `dccType` the counts are of that kind of application. */
export function processDiagnostics(
  { entries, faults }: Pick<InstanceDirectory, 'entries' | 'faults'>,
  self: GatewaySelf,
  dccType: string | undefined,
): object {
  const counted = entries.filter(({ record }) => isOfType(record.dccType, dccType))
  return {
    gateway: {
      server_name: 'service-cli',
      server_version: version,
      own_host: self.host,
      own_port: self.port,
      mcp_url: self.mcpUrl,
      pid: process.pid,
      started_at: toRfc3339(self.startedMs),
      node_version: process.versions.node,
      platform: `${process.platform}-${process.arch}`,
    },
    counts: { total: counted.length, ...countByHealth(counted) },
    faults,
  }
}

/** `gateway://diagnostics/audit` */
export function auditDiagnostics(activity: EndpointActivity): object {
  return {
    summary: {
      pending_calls: activity.pendingCalls,
      sessions: activity.sessions,
      open_streams: activity.streams,
      resource_subscriptions: activity.subscriptions,
    },
  }
}

/** `gateway://diagnostics/metrics` */
export function metricsDiagnostics(
  entries: readonly InstanceEntry[],
  { tools }: EndpointActivity,
): object {
  return {
    metrics: {
      gateway_local_tools: tools,
      live_instances: countByHealth(entries).live,
      backend_timeout_ms: probeTimeoutMs,
      probe_interval_ms: probeEveryMs,
      stale_after_ms: instanceStaleMs,
      // From its last heartbeat, at most.
      dead_shown_ms: reapAfterMs + reapEveryMs,
      publishes_backend_tools: false,
    },
  }
}
