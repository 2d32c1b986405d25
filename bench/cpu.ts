import { readdirSync, readFileSync } from 'node:fs'

/**
 * CPU milliseconds a process has used, summed over its threads, read from outside so that every
 * server is read alike. Undefined where there is no /proc with scheduler statistics.
 */
export function readCpuMs(pid: number): number | undefined {
  try {
    let nanoseconds = 0
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      nanoseconds += parseSchedstat(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'))
    }
    return nanoseconds > 0 ? nanoseconds / 1e6 : undefined
  } catch {
    return undefined
  }
}

/** Nanoseconds on a CPU: the first of three numbers. */
export function parseSchedstat(text: string): number {
  const value = Number(text.trim().split(' ')[0])
  return Number.isFinite(value) ? value : 0
}

/** The number of files a process may have open; undefined where /proc does not say. */
export function readFileLimit(): number | undefined {
  try {
    const line = /^Max open files +\d+ +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))
    return line === null ? undefined : Number(line[1])
  } catch {
    return undefined
  }
}
