import { createHash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/**
 * A name for a running process, `<place>-<pid>-<start>`, put on its temporary files and locks so
 * that another process can tell whether their owner still lives. The start time tells a process
 * from a later one with the same pid; the place (machine and pid namespace) keeps containers that
 * share a folder from judging each other.
 */
export function ownMark(): string {
  return `${ownPlace()}-${process.pid}-${startOf(process.pid)?.start ?? '0'}`
}

export type MarkState = 'alive' | 'gone' | 'unknown'

const form = /^([0-9a-f]{8})-(\d{1,10})-(\d{1,20})$/

/** Does the process behind `mark` still run? `unknown` when it is not ours to judge. */
export function markState(mark: string): MarkState {
  const [, place, pid, start] = form.exec(mark) ?? []
  if (place === undefined || pid === undefined || place !== ownPlace()) return 'unknown'
  if (!isRunning(Number(pid))) return 'gone'
  const now = startOf(Number(pid))
  if (now === null || start === '0') return 'alive'
  return now.start === start && !now.ended ? 'alive' : 'gone'
}

function ownPlace(): string {
  const place = `${hostname()} ${pidNamespace()}`
  return createHash('sha256').update(place).digest('hex').slice(0, 8)
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: it runs, as somebody else.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** Start time in clock ticks since boot, where the system tells it (Linux). */
function startOf(pid: number): { start: string; ended: boolean } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The second field is the program's name and may hold spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const start = fields[19]
    return start === undefined ? null : { start, ended: fields[0] === 'Z' || fields[0] === 'X' }
  } catch {
    return null
  }
}
