import type { InstanceRecord } from '../../lib/instances/record.ts'
import { isLoopback } from '../../lib/util/net.ts'
import type { DirectoryRecord } from './instance-directory.ts'

/** An instance record without how to feed the instance: of `host_url` only the origin is kept. */
export function shownRecord(record: InstanceRecord): DirectoryRecord {
  const { host, scene_set_at: setAt } = record
  return {
    instanceId: record.instance_id,
    dccType: record.dcc_type,
    displayName: record.display_name,
    pid: record.pid,
    pidStart: record.pid_start,
    hostname: record.hostname,
    mcpUrl: record.mcp_url,
    joined: null,
    localUrl: localUrlOf(record.host_url),
    version: record.version,
    host: {
      connected: host.connected,
      appPid: host.app_pid,
      version: host.version,
      mode: host.mode,
      sinceMs: host.since === undefined ? undefined : Date.parse(host.since),
    },
    scene: record.scene,
    sceneSetMs: setAt === null ? null : Date.parse(setAt),
    status: record.status,
    startedMs: Date.parse(record.started_at),
    metadata: record.metadata,
    gateways: record.gateways,
  }
}

/** An instance whose `host_url` cannot be used gets no health checks. */
function localUrlOf(text: string): string | null {
  const url = URL.parse(text)
  if (url?.protocol !== 'http:' || !isLoopback(url.hostname)) return null
  return url.origin
}
