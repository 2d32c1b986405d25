import type { GatewayLimits } from './limits.ts'
import { instanceStaleMs } from '../../lib/instances/instance.ts'
import { reapAfterMs } from '../../lib/instances/reap.ts'
import { directoryPollMs, probeEveryMs } from './local-directory.ts'
import { probeTimeoutMs } from './probes.ts'
import { counted } from '../../lib/util/amounts.ts'
import type { EndpointActivity } from '../mcp/endpoint.ts'
import { type Clock, toRfc3339 } from '../../lib/util/time.ts'
import { version } from '../../lib/util/version.ts'
import type { RecordFault } from './instance-directory.ts'
import { type InstanceQuery, isOfType, queryInstances } from './instance-query.ts'
import {
  type InstanceRow,
  type InstanceRows,
  maxInstanceRows,
  verboseRow,
} from './instance-rows.ts'
import { jsonContents } from '../resources/scheme-producer.ts'
import { KeptAnswers } from '../resources/kept-answers.ts'
import type { Content } from '../resources/producer.ts'
import { textParameter } from '../resources/query-parameters.ts'
import type { ResourceUri } from '../resources/resource-uri.ts'

/** What the gateway's process knows of itself. */
export interface GatewaySelf {
  readonly host: string
  readonly port: number
  readonly mcpUrl: string
  /** Milliseconds since the epoch. */
  readonly startedMs: number
}

interface InstanceCounts {
  readonly total: number
  readonly live: number
  readonly stale: number
  readonly unhealthy: number
  readonly dead: number
}

function countInstances(rows: readonly InstanceRow[]): InstanceCounts {
  const counts = { total: rows.length, live: 0, stale: 0, unhealthy: 0, dead: 0 }
  for (const { health } of rows) counts[health]++
  return counts
}

interface ProcessFacts {
  readonly parts: DiagnosticParts
  readonly nowMs: number
  readonly rows: readonly InstanceRow[]
  readonly answer: ReturnType<typeof queryInstances>
  readonly faults: readonly RecordFault[]
}

/** `gateway://diagnostics/process`; the counts are those of the kind of application asked for. */
function processDiagnostics(facts: ProcessFacts): object {
  const { nowMs, rows, answer, faults } = facts
  const self = facts.parts.self()
  const counts = countInstances(rows)
  const memory = process.memoryUsage()
  return {
    success: true,
    message: summary(counts, faults.length),
    gateway: {
      server_name: 'service-cli',
      server_version: version,
      own_host: self.host,
      own_port: self.port,
      mcp_url: self.mcpUrl,
      pid: process.pid,
      started_at: toRfc3339(self.startedMs),
      uptime_seconds: Math.max(0, Math.round((nowMs - self.startedMs) / 1000)),
      memory: {
        rss_bytes: memory.rss,
        heap_used_bytes: memory.heapUsed,
        external_bytes: memory.external,
      },
      node_version: process.versions.node,
      platform: `${process.platform}-${process.arch}`,
    },
    counts,
    index_health: answer.index_health,
    capped: answer.capped,
    instances: answer.instances,
    faults,
  }
}

/** Everything is asked for: what is wrong is what a reader of diagnostics came for. */
function diagnosticsQuery(dccType: string | undefined, limit: number): InstanceQuery {
  return { includeStale: true, includeDead: true, dccType, limit, offset: 0 }
}

/** `gateway://diagnostics/audit`. */
function auditDiagnostics(activity: EndpointActivity): object {
  return {
    success: true,
    message: `${counted(activity.pendingCalls, 'call')} pending, ${counted(activity.subscriptions, 'subscription')}`,
    entries: [],
    summary: {
      pending_calls: activity.pendingCalls,
      sessions: activity.sessions,
      open_streams: activity.streams,
      resource_subscriptions: activity.subscriptions,
      note: 'of this gateway alone; what was done in an application is in audit://recent of its instance',
    },
  }
}

/** `gateway://diagnostics/metrics` */
function metricsDiagnostics(
  { live }: InstanceCounts,
  { tools }: EndpointActivity,
  limits: GatewayLimits,
): object {
  return {
    success: true,
    message: counted(live, 'live instance'),
    metrics: {
      gateway_local_tools: tools,
      live_instances: live,
      backend_timeout_ms: probeTimeoutMs,
      probe_interval_ms: probeEveryMs,
      stale_after_ms: instanceStaleMs,
      process_check_ms: directoryPollMs,
      dead_shown_ms: reapAfterMs,
      session_idle_ms: limits.sessionIdleMs,
      mcp_surface: tools > 0 ? 'resources and tools' : 'resources',
      publishes_backend_tools: false,
    },
  }
}

function summary(counts: InstanceCounts, faults: number): string {
  const { live, stale, unhealthy, dead } = counts
  const parts = [`${live} live`, `${stale} stale`, `${unhealthy} unhealthy`, `${dead} dead`]
  if (faults > 0) parts.push(counted(faults, 'invalid record'))
  return parts.join(', ')
}

export interface DiagnosticParts {
  readonly limits: GatewayLimits
  /** Asked at each read: the port is known only once it is bound. */
  self(): GatewaySelf
  /** Of the MCP endpoint that serves these resources. */
  activity(): EndpointActivity
}

/** `gateway://diagnostics/process`, `/audit` and `/metrics`. */
export class DiagnosticResources {
  readonly #rows: InstanceRows
  readonly #clock: Clock
  readonly #parts: DiagnosticParts
  readonly #metrics: KeptAnswers

  constructor(rows: InstanceRows, clock: Clock, parts: DiagnosticParts) {
    this.#rows = rows
    this.#clock = clock
    this.#parts = parts
    this.#metrics = new KeptAnswers()
  }

  readProcess(uri: ResourceUri): readonly Content[] {
    const rows = this.#rows
    const dccType = textParameter(uri, 'dcc_type')
    const { faults } = rows
    const nowMs = this.#clock.now()
    const all = rows.entries.map(entry => ({
      ...verboseRow(entry),
      diagnostics: { heartbeat_age_ms: Math.max(0, nowMs - entry.verdict.heartbeatMs) },
    }))
    const query = diagnosticsQuery(dccType, maxInstanceRows)
    return json(
      uri,
      processDiagnostics({
        parts: this.#parts,
        nowMs,
        rows: all.filter(row => isOfType(row, dccType)),
        answer: queryInstances(all, faults, query),
        faults,
      }),
    )
  }

  readAudit(uri: ResourceUri): readonly Content[] {
    return json(uri, auditDiagnostics(this.#parts.activity()))
  }

  readMetrics(uri: ResourceUri): readonly Content[] {
    const rows = this.#rows
    const { activity, limits } = this.#parts
    return this.#metrics.get(rows.version, uri.text, () =>
      JSON.stringify(metricsDiagnostics(countInstances(rows.compact()), activity(), limits)),
    )
  }
}

function json(uri: ResourceUri, payload: object): readonly Content[] {
  return jsonContents(uri.text, JSON.stringify(payload))
}
