import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { errnoOf } from './errno.ts'

/** What Linux tells of a process in /proc/<pid>/stat. */
export interface ProcessStat {
  /** When it started, in clock ticks since boot; differs from a later process of the same pid. */
  readonly ticks: string
  /** A zombie: it still has its pid, and will never do anything again. */
  readonly ended: boolean
}

/** Reads proc_pid_stat(5). The name in the second field may itself hold spaces and brackets. */
export function parseProcessStat(text: string): ProcessStat | null {
  const [state, ...fields] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const ticks = fields[18]
  if (ticks === undefined || !/^\d+$/.test(ticks)) return null
  return { ticks, ended: state === 'Z' || state === 'X' }
}

/** Null where the system does not tell (anything but Linux) or there is no such process. */
export function processStat(pid: number): ProcessStat | null {
  try {
    return parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return null
  }
}

/**
 * When a process started, as a text that differs when the same pid is given to another process,
 * also after a restart of the machine: `<boot id>:<clock ticks>`. Null where the system does not
 * tell (anything but Linux) or the process is gone. Compare for equality only.
 */
export async function processStart(pid: number): Promise<string | null> {
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => null)
  const stat = processStat(pid)
  return boot === null || stat === null ? null : `${boot.trim()}:${stat.ticks}`
}

/** Is there a process with this id, ours or not, that has not ended? */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: it is there, as somebody else's.
    if (errnoOf(error) !== 'EPERM') return false
  }
  return processStat(pid)?.ended !== true
}
