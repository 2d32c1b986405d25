import type { Clock } from '../../lib/util/clock.ts'
import type { Limits } from '../../lib/config/limits.ts'
import { jsonContents } from '../resources/built-in.ts'
import { KeptAnswers } from '../resources/kept-answers.ts'
import type { Content } from '../resources/producer.ts'
import { textParameter } from '../resources/query-parameters.ts'
import type { ResourceUri } from '../resources/resource-uri.ts'
import {
  auditDiagnostics,
  countInstances,
  diagnosticsQuery,
  type EndpointActivity,
  type GatewaySelf,
  metricsDiagnostics,
  processDiagnostics,
} from './diagnostics.ts'
import type { InstanceEntry } from './instance-directory.ts'
import type { InstanceRows } from './instance-rows.ts'
import { isOfType, queryInstances } from './instance-query.ts'
import type { GatewayLimits } from '../../lib/config/gateway-limits.ts'
import type { ProbeOutcome } from './probes.ts'

export interface DiagnosticParts {
  readonly rows: InstanceRows
  readonly clock: Clock
  readonly limits: Limits & GatewayLimits
  /** Asked at each read: the port is known only once it is bound. */
  self(): GatewaySelf
  activity(): EndpointActivity
  probeOf(instanceId: string): ProbeOutcome | null
  whyNotProbed(entry: InstanceEntry): string | null
  /** Milliseconds, by the names under which they are shown. */
  readonly timeouts: Readonly<Record<string, number>>
}

/** `gateway://diagnostics/process`, `/audit` and `/metrics`. */
export class DiagnosticResources {
  readonly #parts: DiagnosticParts
  readonly #metrics: KeptAnswers

  constructor(parts: DiagnosticParts) {
    this.#parts = parts
    this.#metrics = new KeptAnswers(parts.limits)
  }

  readProcess(uri: ResourceUri): readonly Content[] {
    const { rows, clock, limits, self, probeOf, whyNotProbed } = this.#parts
    const dccType = textParameter(uri, 'dcc_type')
    const all = rows.verbose()
    const { faults } = rows
    const query = diagnosticsQuery(dccType, limits.maxInstanceRows)
    const byId = new Map(rows.entries.map(entry => [entry.record.instanceId, entry]))
    return json(
      uri,
      processDiagnostics({
        self: self(),
        nowMs: clock.now(),
        rows: all.filter(row => isOfType(row, dccType)),
        answer: queryInstances(all, faults, query),
        faults,
        entryOf: id => byId.get(id),
        probeOf,
        whyNotProbed,
      }),
    )
  }

  readAudit(uri: ResourceUri): readonly Content[] {
    return json(uri, auditDiagnostics(this.#parts.activity()))
  }

  readMetrics(uri: ResourceUri): readonly Content[] {
    const { rows, timeouts } = this.#parts
    return this.#metrics.get(rows.version, uri.text, () =>
      JSON.stringify(metricsDiagnostics(countInstances(rows.compact()), timeouts)),
    )
  }
}

function json(uri: ResourceUri, payload: object): readonly Content[] {
  return jsonContents(uri.text, JSON.stringify(payload))
}
