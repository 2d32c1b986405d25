import { hostname } from 'node:os'
import { isRunning } from './process.ts'
import type { InstanceRecord } from './record.ts'

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
