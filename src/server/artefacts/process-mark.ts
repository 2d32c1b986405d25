import { createHash } from 'node:crypto'
import { readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { isRunning, processStat } from '../../lib/util/process-start.ts'

/**
 * A name for a running process, `<place>-<pid>-<start>`, put on its temporary files and locks so
 * that another process can tell whether their owner still lives. The start time tells a process
 * from a later one with the same pid; the place (machine and pid namespace) keeps containers that
 * share a folder from judging each other.
 */
export function ownMark(): string {
  return `${ownPlace()}-${process.pid}-${processStat(process.pid)?.ticks ?? '0'}`
}

export type MarkState = 'alive' | 'gone' | 'unknown'

const form = /^([0-9a-f]{8})-(\d{1,10})-(\d{1,20})$/

/** Does the process behind `mark` still run? `unknown` when it is not ours to judge. */
export function markState(mark: string): MarkState {
  const [, place, pid, start] = form.exec(mark) ?? []
  if (place === undefined || pid === undefined || place !== ownPlace()) return 'unknown'
  if (!isRunning(Number(pid))) return 'gone'
  const now = processStat(Number(pid))
  if (now === null || start === '0') return 'alive'
  return now.ticks === start ? 'alive' : 'gone'
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
