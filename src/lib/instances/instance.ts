import { hostname } from 'node:os'
import { isRunning } from './process.ts'
import type { InstanceRecord } from './record.ts'

/** A `serve` as its record describes it to a client of this machine. */
export type Instance = ReturnType<typeof instanceOf>

export function instanceOf(record: InstanceRecord) {
  return {
    id: record.instance_id,
    /** `blender`; `unknown` as long as no application has said. */
    dccType: record.dcc_type,
    displayName: record.display_name,
    scene: record.scene,
    sceneSetAt: record.scene_set_at,
    /**
     * The MCP endpoint at the address that the server itself listens on: `mcp_url` may lead over a
     * proxy and out of this machine, or have a certificate that is unknown here.
     */
    url: URL.parse('/mcp', record.host_url)?.href ?? record.mcp_url,
    startedMs: Date.parse(record.started_at),
  }
}

/** A running server touches its record every 5 s; without a touch for this long it is stale. */
export const instanceStaleMs = 30_000

/**
 * Judges an instance by its process, where that is one of this machine, and its last heartbeat, in
 * milliseconds since the epoch.
 */
export function lifeOf(
  { hostname: owner, pid, pid_start: start }: InstanceRecord,
  heartbeatMs: number,
): 'live' | 'stale' | 'dead' {
  if (owner === hostname() && !isRunning(pid, start)) return 'dead'
  return Date.now() - heartbeatMs > instanceStaleMs ? 'stale' : 'live'
}

/**
 * Says that the application of a server is gone; null when it is connected, or never was. `since`,
 * RFC 3339: since when it is connected or gone.
 */
export function absenceText(application: { connected: boolean; since: string | null }) {
  const { connected, since } = application
  return connected || since === null ? null : `application gone since ${since}`
}
