import { maxInstanceRows } from './instance-rows.ts'
import type { GatewayLimits } from './limits.ts'
import { instanceStaleMs } from './verdict.ts'
import { counted } from '../../lib/util/amounts.ts'
import type { EndpointActivity } from '../mcp/endpoint.ts'
import { type Clock, rfc3339OrNull, toRfc3339 } from '../../lib/util/time.ts'
import { version } from '../../lib/util/version.ts'
import type { InstanceEntry, RecordFault } from './instance-directory.ts'
import {
  type InstanceAnswer,
  type InstanceQuery,
  isOfType,
  queryInstances,
} from './instance-query.ts'
import type { InstanceRow, InstanceRows } from './instance-rows.ts'
import type { ProbeOutcome } from './probes.ts'
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
  readonly answer: InstanceAnswer<InstanceRow>
  readonly faults: readonly RecordFault[]
  entryOf(instanceId: string): InstanceEntry | undefined
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
    instances: answer.instances.map(row => ({
      ...row,
      diagnostics: instanceDiagnostics(row.instance_id, facts),
    })),
    faults,
  }
}

/** Everything is asked for: what is wrong is what a reader of diagnostics came for. */
function diagnosticsQuery(dccType: string | undefined, limit: number): InstanceQuery {
  return { includeStale: true, includeDead: true, dccType, limit, offset: 0, verbose: true }
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
      backend_timeout_ms: limits.probeTimeoutMs,
      probe_interval_ms: limits.probeIntervalMs,
      stale_after_ms: instanceStaleMs,
      process_check_ms: limits.processCheckMs,
      dead_shown_ms: limits.deadInstanceMs,
      session_idle_ms: limits.sessionIdleMs,
      list_changed_interval_ms: limits.listChangedIntervalMs,
      mcp_surface: tools > 0 ? 'resources and tools' : 'resources',
      publishes_backend_tools: false,
    },
  }
}

function instanceDiagnostics(instanceId: string, { parts, entryOf }: ProcessFacts): object {
  const probe = parts.probeOf(instanceId)
  const entry = entryOf(instanceId)
  return {
    heartbeat_age_ms: rounded(entry?.verdict.heartbeatAgeMs ?? null),
    not_probed: entry === undefined ? null : parts.whyNotProbed(entry),
    probed_at: rfc3339OrNull(probe?.probedMs),
    probe_latency_ms: rounded(probe?.latencyMs ?? null),
    last_error: lastErrorOf(probe),
  }
}

function lastErrorOf(probe: ProbeOutcome | null): object | null {
  if (probe === null || probe.lastError === null) return null
  return { message: probe.lastError, at: rfc3339OrNull(probe.lastErrorMs) }
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 10) / 10
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
  /** How the last probe of an instance went; null: it was not probed. */
  probeOf(instanceId: string): ProbeOutcome | null
  /** Why an instance is not probed; null: it is. */
  whyNotProbed(entry: InstanceEntry): string | null
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
    const all = rows.verbose()
    const { faults } = rows
    const query = diagnosticsQuery(dccType, maxInstanceRows)
    const byId = new Map(rows.entries.map(entry => [entry.record.instanceId, entry]))
    return json(
      uri,
      processDiagnostics({
        parts: this.#parts,
        nowMs: this.#clock.now(),
        rows: all.filter(row => isOfType(row, dccType)),
        answer: queryInstances(all, faults, query),
        faults,
        entryOf: id => byId.get(id),
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
