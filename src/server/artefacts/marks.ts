import * as fs from 'node:fs'
import { readlinkSync } from 'node:fs'
import { noFollow } from '../../lib/util/posix.ts'
import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { isRunning, processStat } from '../../lib/instances/process.ts'

/** One file that every process appends a byte to when it changed the store. */
interface ChangeMark {
  /** Different after any change that was finished before the call. */
  read(): string
  /**
   * Records a change. Returns the new state when no other process recorded one since the state
   * `seen`, else null. Never throws.
   */
  bump(seen: string): string | null
}

/** The file starts again at this size; its time still tells it from any earlier state. */
const maxMarkBytes = 1024 * 1024

/**
 * Spares a listing the look at 256 folders: one `stat` tells whether any process changed something.
 * A growing file, not a touched one, because two changes can fall into one tick of a file system's
 * clock. Nothing depends on it being written: the folders are looked at now and then, too.
 */
export function createChangeMark(path: string): ChangeMark {
  return {
    read() {
      const stats = fs.lstatSync(path, { throwIfNoEntry: false })
      return stats === undefined ? 'none' : stateOf(stats)
    },
    bump(seen) {
      const { O_WRONLY, O_APPEND, O_CREAT } = fs.constants
      try {
        const file = fs.openSync(path, O_WRONLY | O_APPEND | O_CREAT | noFollow, 0o600)
        try {
          const before = fs.fstatSync(file)
          const starts = before.size >= maxMarkBytes
          if (starts) fs.ftruncateSync(file)
          fs.writeSync(file, '.')
          const after = fs.fstatSync(file)
          // A byte of another process in between would make it two.
          const isNext = !starts && stateOf(before) === seen && after.size === before.size + 1
          return isNext ? stateOf(after) : null
        } finally {
          fs.closeSync(file)
        }
      } catch {
        // A full disk: others see the change at their next look at the folders.
        return null
      }
    },
  }
}

function stateOf({ ino, size, mtimeMs }: fs.Stats): string {
  return `${ino}:${size}:${mtimeMs}`
}

/**
 * A name for a running process, `<place>-<pid>-<start>`, put on its temporary files and locks so
 * that another process can tell whether their owner still lives. The start time tells a process
 * from a later one with the same pid; the place (machine and pid namespace) keeps containers that
 * share a folder from judging each other.
 */
export function ownMark(): string {
  return `${ownPlace()}-${process.pid}-${processStat(process.pid)?.ticks ?? '0'}`
}

type MarkState = 'alive' | 'gone' | 'unknown'

const form = /^([0-9a-f]{8})-(\d{1,10})-(\d{1,20})$/

/** Whether the process behind `mark` still runs; `unknown` when this process cannot tell. */
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
