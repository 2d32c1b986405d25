import { readFile } from 'node:fs/promises'

/**
 * When a process started, as a text that differs when the same pid is given to another process,
 * also after a restart of the machine: `<boot id>:<clock ticks>`. Null where the system does not
 * tell (anything but Linux) or the process is gone. Compare for equality only.
 */
export async function processStart(pid: number): Promise<string | null> {
  try {
    const [boot, stat] = await Promise.all([
      readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
      readFile(`/proc/${pid}/stat`, 'utf8'),
    ])
    const ticks = startTicks(stat)
    return ticks === null ? null : `${boot.trim()}:${ticks}`
  } catch {
    return null
  }
}

/** Field 22 of proc_pid_stat(5). The name before it may itself hold spaces and brackets. */
export function startTicks(stat: string): string | null {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = fields[19]
  return ticks !== undefined && /^\d+$/.test(ticks) ? ticks : null
}

/** Is there a process with this id, ours or not? */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
