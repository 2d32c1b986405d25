import { isLoopback } from '../util/net.ts'
import type { InstanceRecord } from './record.ts'
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'

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
  const bound = URL.parse(hostUrl)
  const isPlain = shown.protocol === 'http:' && isLoopback(shown.hostname)
  if (isPlain || bound === null || !/^https?:$/.test(bound.protocol)) return mcpUrl
  return bound.username === '' && bound.password === '' ? new URL('/mcp', bound).href : mcpUrl
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

/** Whether `host`, an address or a name, leads to this machine. Never rejects. */
export async function isOwnHost(host: string): Promise<boolean> {
  if (isLoopback(host)) return true
  const own = Object.values(networkInterfaces()).flatMap(list => list ?? [])
  const isOwn = (wanted: string): boolean =>
    isLoopback(wanted) || own.some(({ address }) => address === wanted)
  if (isIP(host) !== 0) return isOwn(host)
  const found = await lookup(host, { all: true }).catch(() => [])
  return found.length > 0 && found.every(({ address }) => isOwn(address))
}

/** Gone, or its pid was given to another process since. */
export function isDead(
  recordedStart: string | null,
  running: boolean,
  startedNow: string | null,
): boolean {
  if (!running) return true
  return recordedStart !== null && startedNow !== null && recordedStart !== startedNow
}
