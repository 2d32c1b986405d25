import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { errnoOf } from '../util/errors.ts'

/** What Linux tells of a process in /proc/<pid>/stat. */
interface ProcessStat {
  /** When it started, in clock ticks since boot; differs from a later process of the same pid. */
  readonly ticks: string
  /** A zombie: it still has its pid, and will never do anything again. */
  readonly ended: boolean
}

/** Null where the system does not tell (anything but Linux) or there is no such process. */
export function processStat(pid: number): ProcessStat | null {
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

/** Names this run of the machine. Null where the system does not tell (anything but Linux). */
export async function bootId(): Promise<string | null> {
  const text = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => null)
  return text?.trim() ?? null
}

/** What there is now under a pid; `start` is null where the system does not tell. */
export interface ProcessNow {
  /** There is such a process, ours or not, and it has not ended. */
  readonly running: boolean
  readonly start: string | null
}

/** `boot` is `bootId()`, which stays the same while this process runs. */
export function lookAtProcess(pid: number, boot: string | null): ProcessNow {
  const stat = processStat(pid)
  if (stat === null) return { running: hasProcess(pid), start: null }
  return { running: !stat.ended, start: boot === null ? null : `${boot}:${stat.ticks}` }
}

/**
 * When a process started, as a text that differs when the same pid is given to another process,
 * also after a restart of the machine: `<boot id>:<clock ticks>`. Null where the system does not
 * tell (anything but Linux) or the process is gone. Compare for equality only.
 */
export async function processStart(pid: number): Promise<string | null> {
  return lookAtProcess(pid, await bootId()).start
}

/** Whether there is a process with this id, ours or not, that has not ended. */
export function isRunning(pid: number): boolean {
  return lookAtProcess(pid, null).running
}

function hasProcess(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return errnoOf(error) === 'EPERM'
  }
}
