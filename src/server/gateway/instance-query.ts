import { plainId } from '../../lib/instances/select-instance.ts'
import {
  integerParameter,
  limitParameter,
  switchParameter,
  textParameter,
} from '../resources/query-parameters.ts'
import type { ResourceUri } from '../resources/resource-uri.ts'
import type { RecordFault } from './instance-directory.ts'
import type { InstanceRow } from './instance-rows.ts'

/** What a reader asks of the directory; every surface asks by this and nothing else. */
export interface InstanceQuery {
  readonly includeStale: boolean
  readonly includeDead: boolean
  /** The kind of application, compared without case. */
  readonly dccType?: string
  /** Part of a name, id, version or scene. */
  readonly text?: string
  readonly limit: number
  readonly offset: number
}

/** Instances of one answer, also when the caller names no `limit`. */
export const maxInstanceRows = 1000

/** The query of `gateway://instances`; throws `ResourceUriInvalid`. */
export function parseInstanceQuery(uri: ResourceUri): InstanceQuery {
  return {
    includeStale: switchParameter(uri, 'include_stale') ?? true,
    includeDead: switchParameter(uri, 'include_dead') ?? false,
    dccType: textParameter(uri, 'dcc_type'),
    text: textParameter(uri, 'query'),
    limit: limitParameter(uri, maxInstanceRows, maxInstanceRows),
    offset: integerParameter(uri, 'offset') ?? 0,
  }
}

/** Which rows the query shows, in their order, with what it leaves out in numbers. */
export function queryInstances(
  rows: InstanceRow[],
  faults: readonly RecordFault[],
  query: InstanceQuery,
) {
  const { includeStale, includeDead, limit, offset } = query
  const asked = rows.filter(row => isAskedFor(row, query))
  const stale = asked.filter(({ health }) => health === 'stale').length
  const dead = asked.filter(({ health }) => health === 'dead').length
  const shown = asked.filter(
    ({ health }) => (health !== 'stale' || includeStale) && (health !== 'dead' || includeDead),
  )
  const instances = shown.slice(offset, offset + limit)
  return {
    total: shown.length,
    capped: offset + instances.length < shown.length,
    limit,
    offset,
    stale_count: stale,
    dead_count: dead,
    fault_count: faults.length,
    instances,
  }
}

/** Undefined is any type; case does not matter. */
export function isOfType(dccType: string, wanted: string | undefined): boolean {
  return wanted === undefined || dccType.toLowerCase() === wanted.toLowerCase()
}

function isAskedFor(row: InstanceRow, { dccType, text = '' }: InstanceQuery): boolean {
  if (!isOfType(row.dcc_type, dccType)) return false
  const wanted = text.toLowerCase()
  return [row.display_id, row.display_name, row.instance_id, row.scene ?? ''].some(part =>
    part.toLowerCase().includes(wanted),
  )
}

/**
 * The hexadecimal digits that a selector begins an id with, lower case and without hyphens; null
 * for what begins none.
 */
export function idPrefix(selector: string): string | null {
  const digits = plainId(selector)
  return /^[0-9a-f]{1,32}$/.test(digits) ? digits : null
}
