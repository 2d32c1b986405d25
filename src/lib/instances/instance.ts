import { hostname } from 'node:os'
import { isLoopback } from '../util/net.ts'
import { isRunning } from './process.ts'
import type { InstanceRecord } from './record.ts'

/** A `serve` as its record describes it to a client of this machine. */
export interface Instance {
  readonly id: string
  /** `blender`; `unknown` as long as no application has said. */
  readonly dccType: string
  readonly displayName: string
  readonly scene: string | null
  /** The MCP endpoint at the address that the server itself listens on. */
  readonly url: string
  readonly pid: number
  /** Tells processes apart that had the same pid; null where the system does not tell. */
  readonly pidStart: string | null
  readonly hostname: string
  readonly startedMs: number
}

export function instanceOf(record: InstanceRecord): Instance {
  return {
    id: record.instance_id,
    dccType: record.dcc_type,
    displayName: record.display_name,
    scene: record.scene,
    url: endpointOf(record),
    pid: record.pid,
    pidStart: record.pid_start,
    hostname: record.hostname,
    startedMs: Date.parse(record.started_at),
  }
}

/**
 * `mcp_url` may lead over a proxy and out of this machine, or have a certificate that is unknown
 * here; what is bound is the server of `host_url`, and the endpoint is there, too.
 */
function endpointOf({ mcp_url: mcpUrl, host_url: hostUrl }: InstanceRecord): string {
  const shown = new URL(mcpUrl)
  const isPlain = shown.protocol === 'http:' && isLoopback(shown.hostname)
  return isPlain || !/^https?:/.test(hostUrl)
    ? mcpUrl
    : (URL.parse('/mcp', hostUrl)?.href ?? mcpUrl)
}

/** A running server touches its record every 5 s; without a touch for this long it is stale. */
export const instanceStaleMs = 30_000

/**
 * Judges an instance by its process, where that is one of this machine, and its last heartbeat, in
 * milliseconds since the epoch.
 */
export function lifeOf(
  { hostname: owner, pid, pidStart }: Pick<Instance, 'hostname' | 'pid' | 'pidStart'>,
  heartbeatMs: number,
): 'live' | 'stale' | 'dead' {
  if (owner === hostname() && !isRunning(pid, pidStart)) return 'dead'
  return Date.now() - heartbeatMs > instanceStaleMs ? 'stale' : 'live'
}

/**
 * Whether an application is connected to a server. `since`, RFC 3339: since when it is, or is gone.
 */
export interface ApplicationState {
  readonly connected: boolean
  /** Null before the first connection. */
  readonly since: string | null
}

/**
 * Returns since when the application of a server is gone; null when it is connected, or never was.
 */
export function absenceText({ connected, since }: ApplicationState): string | null {
  return connected || since === null ? null : `application gone since ${since}`
}
