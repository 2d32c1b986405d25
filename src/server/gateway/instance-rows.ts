import { shortId } from '../../lib/instances/select-instance.ts'
import { rfc3339OrNull, toRfc3339 } from '../../lib/util/time.ts'
import type { InstanceEntry } from './instance-directory.ts'

/** What to expect of an instance: what it says of itself, unless its life says otherwise. */
export function rowStatus({ record, verdict }: InstanceEntry) {
  switch (verdict.health) {
    case 'live':
      return record.status
    case 'unhealthy':
      return 'unreachable'
    default:
      return verdict.health
  }
}

export type InstanceRow = ReturnType<typeof instanceRow>

/**
 * One instance as clients read it. Member names are those on the wire. The texts of a record are safe
 * to show: `parseRecord` made them so.
 */
export function instanceRow(entry: InstanceEntry) {
  const { record, verdict } = entry
  const { dccType, joined, host } = record
  const short = shortId(record.instanceId)
  return {
    instance_id: record.instanceId,
    instance_short: short,
    display_id: `${dccType}@${host.version ?? 'unknown'}-${short}`,
    display_name: record.displayName,
    dcc_type: dccType,
    /** Of the application; null until it has said so. */
    version: host.version,
    /** The application's process; null as long as none is connected. */
    host_pid: host.appPid,
    application: { connected: host.connected, since: rfc3339OrNull(host.sinceMs) },
    /** Where a client opens a session with this very instance; null: it is read through the gateway. */
    mcp_url: record.mcpUrl,
    origin: joined === null ? 'local' : 'joined',
    /** Whose a joined instance is, and who sees it. */
    joined: joined
      ? { owner: joined.owner, team: joined.team, name: joined.name, visible_to: joined.visibility }
      : undefined,
    status: rowStatus(entry),
    health: verdict.health,
    reason: verdict.reason,
    scene: record.scene,
    scene_set_at: rfc3339OrNull(record.sceneSetMs),
    metadata: record.metadata,
    /** The server's process. */
    pid: record.pid,
    hostname: record.hostname,
    server_version: record.version,
    started_at: toRfc3339(record.startedMs),
    host_mode: host.mode,
  }
}
