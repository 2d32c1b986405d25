import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ServiceError } from '../../lib/errors.ts'
import { noFollow } from '../../lib/posix.ts'
import { markState } from './process-mark.ts'
import { errnoOf } from './storage-error.ts'

export interface EntryLocks {
  /** Runs `action` while no other task of any process changes the entry. */
  hold<Value>(hex: string, action: () => Promise<Value>): Promise<Value>
  /** The same, but returns undefined at once when the entry is being changed. */
  tryHold<Value>(hex: string, action: () => Promise<Value>): Promise<Value | undefined>
  /** Removes locks whose owner is gone. */
  clean(): void
}

export interface EntryLockOptions {
  dir: string
  /** Of this process; see `ownMark`. */
  mark: string
  /** An unchanged lock of an owner that cannot be judged is broken after this. Default 10 s. */
  patienceMs?: number
}

const maxDelayMs = 16
const waitFactor = 6

/**
 * One lock per artefact: within the process a queue, between processes a file made with O_EXCL
 * that names its owner. It is held for the few milliseconds in which names are put in place or
 * taken away, never while bytes are received. A lock whose owner died is taken over.
 */
export function createEntryLocks(options: EntryLockOptions): EntryLocks {
  const { dir, mark, patienceMs = 10_000 } = options
  const queues = new Map<string, Promise<void>>()

  async function queued<Value>(hex: string, action: () => Promise<Value>): Promise<Value> {
    const before = queues.get(hex)
    const { promise: mine, resolve: done } = Promise.withResolvers<void>()
    const tail = before === undefined ? mine : before.then(() => mine)
    queues.set(hex, tail)
    try {
      await before
      return await action()
    } finally {
      done()
      if (queues.get(hex) === tail) queues.delete(hex)
    }
  }

  async function acquire(path: string, owner: string): Promise<void> {
    let seen = ''
    let seenAt = performance.now()
    const startedAt = seenAt
    for (let wait = 1; !create(path, owner); wait = Math.min(wait * 2, maxDelayMs)) {
      const now = performance.now()
      const found = read(path)
      if (found !== null && found !== seen) {
        seen = found
        seenAt = now
      }
      if (found !== null && mayBreak(found, now - seenAt, patienceMs)) breakLock(path, found)
      else await delay(wait)
      if (now - startedAt > waitFactor * patienceMs) {
        const hint = `remove ${path} if no process uses it`
        throw new ServiceError('storage_failed', 'an artefact stayed locked', { hint })
      }
    }
  }

  async function run<Value>(path: string, owner: string, action: () => Promise<Value>) {
    try {
      return await action()
    } finally {
      release(path, owner)
    }
  }

  return {
    hold: (hex, action) =>
      queued(hex, async () => {
        const owner = `${mark} ${randomUUID()}`
        await acquire(join(dir, hex), owner)
        return run(join(dir, hex), owner, action)
      }),

    async tryHold(hex, action) {
      if (queues.has(hex)) return undefined
      return queued(hex, async () => {
        const owner = `${mark} ${randomUUID()}`
        const path = join(dir, hex)
        return create(path, owner) ? run(path, owner, action) : undefined
      })
    },

    clean() {
      for (const name of fs.readdirSync(dir)) {
        const path = join(dir, name)
        const found = read(path)
        if (found !== null && stateOf(found) === 'gone') breakLock(path, found)
      }
    },
  }
}

/** A running owner is waited for, however slow its disk is. */
export function mayBreak(owner: string, unchangedMs: number, patienceMs: number): boolean {
  const state = stateOf(owner)
  return state === 'gone' || (state === 'unknown' && unchangedMs > patienceMs)
}

function stateOf(owner: string) {
  return markState(owner.split(' ')[0] ?? '')
}

function create(path: string, owner: string): boolean {
  const { O_WRONLY, O_CREAT, O_EXCL } = fs.constants
  let file: number
  try {
    file = fs.openSync(path, O_WRONLY | O_CREAT | O_EXCL | noFollow, 0o600)
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    throw error
  }
  try {
    fs.writeSync(file, owner)
  } catch {
    // On a full disk an empty lock must do, or nothing could ever be removed from it.
  } finally {
    fs.closeSync(file)
  }
  return true
}

/** Null when there is no lock (any more). */
function read(path: string): string | null {
  try {
    return fs.readFileSync(path, 'utf8')
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null
    throw error
  }
}

function release(path: string, owner: string): void {
  const found = read(path)
  // Somebody whose patience ended may hold it by now.
  if (found === owner || found === '') fs.rmSync(path, { force: true })
}

/** Moved aside first: of several that break it only one succeeds, and a fresh lock is put back. */
function breakLock(path: string, seen: string): void {
  const aside = `${path}.${randomUUID()}`
  try {
    fs.renameSync(path, aside)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return
    throw error
  }
  try {
    if (fs.readFileSync(aside, 'utf8') !== seen) fs.linkSync(aside, path)
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
  } finally {
    fs.rmSync(aside, { force: true })
  }
}
