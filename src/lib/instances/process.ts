import { readFileSync } from 'node:fs'
import { errnoOf } from '../util/errors.ts'
import { hostname } from 'node:os'
import type { InstanceRecord } from './record.ts'

/**
 * What Linux says of a process: `ticks`, when it started, in clock ticks since boot, and whether it
 * has ended, as a zombie has. Null where the system does not tell or there is no such process.
 */
export function processStat(pid: number): { ticks: string; ended: boolean } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // proc_pid_stat(5): the name in the second field may itself hold spaces and brackets.
    const [state = '', ...fields] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    // The start time is the 22nd field.
    return { ticks: fields[18] ?? '', ended: state === 'Z' || state === 'X' }
  } catch {
    return null
  }
}

/**
 * When a process started, as a text that differs when the same pid is given to another process.
 * Null where the system does not tell (anything but Linux) or the process is gone.
 */
export function processStart(pid: number): string | null {
  return processStat(pid)?.ticks ?? null
}

/**
 * Whether a process with this id, of this user or another, has not ended. `start`: what
 * `processStart` returned for it; null when that is unknown.
 */
export function isRunning(pid: number, start: string | null = null): boolean {
  const stat = processStat(pid)
  if (stat !== null) return !stat.ended && (start === null || start === stat.ticks)
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return errnoOf(error) === 'EPERM'
  }
}

/** A running server touches its record every 5 s; without a touch for this long it is stale. */
export const instanceStaleMs = 30_000

/**
 * Judges an instance by its process, where that is one of this machine, and its last heartbeat, in
 * milliseconds since the epoch.
 */
export function healthOf(
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
