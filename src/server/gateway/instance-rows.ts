import { plainId, shortId } from '../../lib/instances/select-instance.ts'
import { switchParameter, textParameter } from '../resources/query-parameters.ts'
import type { ResourceUri } from '../resources/resource-uri.ts'
import type { InstanceEntry } from './instance-directory.ts'

/** What a reader asks of the directory. */
export interface InstanceQuery {
  readonly includeStale: boolean
  readonly includeDead: boolean
  /** The kind of application, compared without case. */
  readonly dccType?: string
}

/** The query of `gateway://instances`; throws `ResourceUriInvalid`. */
export function parseInstanceQuery(uri: ResourceUri): InstanceQuery {
  return {
    includeStale: switchParameter(uri, 'include_stale') ?? true,
    includeDead: switchParameter(uri, 'include_dead') ?? false,
    dccType: textParameter(uri, 'dcc_type'),
  }
}

/** `gateway://instances`: the rows that the query shows, in their order. */
export function listInstances(
  entries: readonly InstanceEntry[],
  { includeStale, includeDead, dccType }: InstanceQuery,
) {
  const asked = ofType(entries, dccType)
  const shown = asked.filter(
    ({ verdict: { health } }) =>
      (health !== 'stale' || includeStale) && (health !== 'dead' || includeDead),
  )
  return {
    list_ok: true,
    total: shown.length,
    dead_count: countByHealth(asked).dead,
    instances: shown.map(instanceRow),
  }
}

/** Those of one kind of application, compared without case; all of them without one. */
export function ofType(
  entries: readonly InstanceEntry[],
  dccType: string | undefined,
): readonly InstanceEntry[] {
  const wanted = dccType?.toLowerCase()
  return wanted === undefined
    ? entries
    : entries.filter(({ record }) => record.dcc_type.toLowerCase() === wanted)
}

/** Number of instances by health, for each health there is. */
export function countByHealth(entries: readonly InstanceEntry[]) {
  const counts = { live: 0, stale: 0, unhealthy: 0, dead: 0 }
  for (const { verdict } of entries) counts[verdict.health]++
  return counts
}

/**
 * The hexadecimal digits that a selector begins an id with, lower case and without hyphens; null
 * for what begins none.
 */
export function idPrefix(selector: string): string | null {
  const digits = plainId(selector)
  return /^[0-9a-f]{1,32}$/.test(digits) ? digits : null
}

/** What to expect of an instance: what it says of itself, unless its life says otherwise. */
export function rowStatus({ record, verdict: { health } }: InstanceEntry) {
  if (health === 'live') return record.status
  return health === 'unhealthy' ? 'unreachable' : health
}

export type InstanceRow = ReturnType<typeof instanceRow>

/**
 * One instance as clients read it. Member names are those on the wire. The texts of a record are safe
 * to show: `parseRecord` made them so.
 */
export function instanceRow(entry: InstanceEntry) {
  const { record, verdict } = entry
  const { joined, host } = record
  return {
    instance_id: record.instance_id,
    instance_short: shortId(record.instance_id),
    display_name: record.display_name,
    dcc_type: record.dcc_type,
    /** Of the application; null until it has said so. */
    version: host.version,
    /** The application's process; null as long as none is connected. */
    host_pid: host.app_pid,
    application: { connected: host.connected, since: host.since ?? null },
    /** Where a client opens a session with this very instance; null: it is read through the gateway. */
    mcp_url: joined ? null : record.mcp_url,
    /** Whose a joined instance is, and who sees it; absent for one of this machine. */
    joined: joined && {
      owner: joined.owner,
      team: joined.team,
      name: joined.name,
      visible_to: joined.visibility,
    },
    status: rowStatus(entry),
    health: verdict.health,
    reason: verdict.reason,
    scene: record.scene,
    scene_set_at: record.scene_set_at,
    metadata: record.metadata,
    /** The server's process. */
    pid: record.pid,
    hostname: record.hostname,
    started_at: record.started_at,
  }
}
