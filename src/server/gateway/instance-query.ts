import {
  integerParameter,
  limitParameter,
  switchParameter,
  textParameter,
  wordParameter,
} from '../resources/query-parameters.ts'
import type { ResourceUri } from '../resources/resource-uri.ts'
import type { InstanceEntry, RecordFault } from './instance-directory.ts'
import { type InstanceRow, type RowStatus, rowStatuses } from './instance-rows.ts'
import { minPrefixChars, plainId } from '../../lib/instances/select-instance.ts'
import { fail, ok, type Result } from '../../lib/util/result.ts'

/** What a reader asks of the directory; every surface asks by this and nothing else. */
export interface InstanceQuery {
  readonly includeStale: boolean
  readonly includeDead: boolean
  /** The kind of application, compared without case. */
  readonly dccType?: string
  /** Part of a name, id, version or scene. */
  readonly text?: string
  readonly status?: RowStatus
  readonly limit: number
  readonly offset: number
  readonly verbose: boolean
}

export interface InstanceAnswer<Row extends InstanceRow> {
  readonly index_health: 'healthy' | 'degraded' | 'empty'
  /** How many fit the query. */
  readonly total: number
  /** More rows follow these. */
  readonly capped: boolean
  readonly limit: number
  readonly offset: number
  /** How many of the kind asked for are stale, or dead, shown or not. */
  readonly stale_count: number
  readonly dead_count: number
  /** Records that were not understood. */
  readonly fault_count: number
  readonly instances: readonly Row[]
}

/** The query of `gateway://instances`; throws `ResourceUriInvalid`. */
export function parseInstanceQuery(uri: ResourceUri, maxRows: number): InstanceQuery {
  const status = wordParameter(uri, 'status', rowStatuses)
  return {
    // A query for stale or dead ones by name shows them.
    includeStale: switchParameter(uri, 'include_stale') ?? true,
    includeDead: switchParameter(uri, 'include_dead') ?? status === 'dead',
    dccType: textParameter(uri, 'dcc_type'),
    text: textParameter(uri, 'query'),
    status,
    limit: limitParameter(uri, maxRows, maxRows),
    offset: integerParameter(uri, 'offset') ?? 0,
    verbose: switchParameter(uri, 'verbose') ?? false,
  }
}

/** Which rows the query shows, in their order, with what it leaves out in numbers. */
export function queryInstances<Row extends InstanceRow>(
  rows: readonly Row[],
  faults: readonly RecordFault[],
  query: InstanceQuery,
): InstanceAnswer<Row> {
  const asked = rows.filter(row => isAskedFor(row, query))
  const shown = asked.filter(row => isShown(row, query))
  const page = shown.slice(query.offset, query.offset + query.limit)
  return {
    index_health: indexHealth(rows.length, faults.length),
    total: shown.length,
    capped: query.offset + page.length < shown.length,
    limit: query.limit,
    offset: query.offset,
    stale_count: countOf(asked, 'stale'),
    dead_count: countOf(asked, 'dead'),
    fault_count: faults.length,
    instances: page,
  }
}

/** Undefined is any type; case does not matter. */
export function isOfType({ dcc_type }: InstanceRow, dccType: string | undefined): boolean {
  return dccType === undefined || dcc_type.toLowerCase() === dccType.toLowerCase()
}

function isAskedFor(row: InstanceRow, { dccType, text, status }: InstanceQuery): boolean {
  if (!isOfType(row, dccType)) return false
  if (status !== undefined && row.status !== status) return false
  if (text === undefined) return true
  const wanted = text.toLowerCase()
  return [row.display_id, row.display_name, row.instance_id, row.scene ?? ''].some(part =>
    part.toLowerCase().includes(wanted),
  )
}

function isShown({ health }: InstanceRow, { includeStale, includeDead }: InstanceQuery): boolean {
  if (health === 'stale') return includeStale
  return health !== 'dead' || includeDead
}

function countOf(rows: InstanceRow[], health: InstanceRow['health']): number {
  return rows.reduce((count, row) => count + (row.health === health ? 1 : 0), 0)
}

function indexHealth(rows: number, faults: number): InstanceAnswer<InstanceRow>['index_health'] {
  if (faults > 0) return 'degraded'
  return rows === 0 ? 'empty' : 'healthy'
}

export type LookupFailure =
  | { readonly kind: 'none' }
  | { readonly kind: 'too_short' }
  | { readonly kind: 'ambiguous'; readonly candidates: readonly InstanceEntry[] }

/**
 * The hexadecimal digits that a selector begins an id with, lower case and without hyphens; null
 * for what begins none.
 */
export function idPrefix(selector: string): string | null {
  const digits = plainId(selector)
  return /^[0-9a-f]{1,32}$/.test(digits) ? digits : null
}

/** The one instance whose id is the selector or begins with it, alive or dead. */
export function lookUpInstance(
  entries: readonly InstanceEntry[],
  selector: string,
): Result<InstanceEntry, LookupFailure> {
  const prefix = idPrefix(selector)
  if (prefix === null) return fail({ kind: 'none' })
  if (prefix.length < minPrefixChars) return fail({ kind: 'too_short' })
  const candidates = entries.filter(({ record }) => idPrefix(record.instanceId)?.startsWith(prefix))
  const [found] = candidates
  if (found === undefined) return fail({ kind: 'none' })
  return candidates.length === 1 ? ok(found) : fail({ kind: 'ambiguous', candidates })
}
