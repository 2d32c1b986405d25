import { readFileSync } from 'node:fs'
import type { InFamily } from './choose-window.ts'

/** The id of the parent process; null where the system does not tell or there is no parent. */
export type ParentOf = (pid: number) => number | null

/**
 * Whether processes are `pid` or were started by it, directly or not. Each is asked about once:
 * the answer is for one look at the windows, not to be kept. What this program, `self`, was itself
 * started by may be the whole session of the person, and counts alone: an application behind the
 * wall of a container can name such a process by chance.
 */
export function familyOf(
  pid: number | null,
  parentOf: ParentOf,
  maxDepth: number,
  self = process.pid,
): InFamily {
  if (pid === null) return () => false
  if (self !== pid && descendsFrom(self, pid, parentOf, maxDepth)) return asked => asked === pid
  const known = new Map<number, boolean>()
  return asked => {
    let answer = known.get(asked)
    if (answer === undefined) {
      answer = descendsFrom(asked, pid, parentOf, maxDepth)
      known.set(asked, answer)
    }
    return answer
  }
}

function descendsFrom(start: number, pid: number, parentOf: ParentOf, maxDepth: number): boolean {
  let at: number | null = start
  for (let depth = 0; depth <= maxDepth && at !== null && at > 0; depth++) {
    if (at === pid) return true
    at = parentOf(at)
  }
  return false
}

/** From proc_pid_stat(5): Linux only, elsewhere an application is its one process. */
export function parentInProc(pid: number): number | null {
  try {
    return parseParent(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return null
  }
}

/** The fourth field, two after the name, which may itself hold spaces and brackets. */
export function parseParent(stat: string): number | null {
  const [, parent] = /^ \S (\d{1,10}) /.exec(stat.slice(stat.lastIndexOf(')') + 1)) ?? []
  return parent === undefined ? null : Number(parent)
}
