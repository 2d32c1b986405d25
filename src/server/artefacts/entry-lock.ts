import { randomBytes, randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { errnoOf, ServiceError } from '../../lib/util/errors.ts'
import { markState } from './marks.ts'

export interface EntryLocks {
  /** Runs `action` while no other task of any process changes the entry. */
  hold<Value>(hex: string, action: () => Promise<Value>): Promise<Value>
  /** The same, but returns undefined at once when the entry is being changed. */
  tryHold<Value>(hex: string, action: () => Promise<Value>): Promise<Value | undefined>
  /** Removes locks whose owner is gone. */
  clean(): void
}

interface EntryLockOptions {
  dir: string
  /** Of this process; see `ownMark`. */
  mark: string
  /** An unchanged lock of an owner that cannot be judged is broken after this. Default 10 s. */
  patienceMs?: number
}

const maxDelayMs = 16
const waitFactor = 6

/**
 * One lock per artefact, within a process as between processes: a link that only one can make and
 * that names its owner. It is held for the few milliseconds in which names are put in place or
 * taken away, never while bytes are received. A lock whose owner died is taken over.
 */
export function createEntryLocks(options: EntryLockOptions): EntryLocks {
  const { dir, mark, patienceMs = 10_000 } = options

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
      if (found !== null && mayBreak(found, now - seenAt, patienceMs)) {
        breakLock(path, found)
        continue
      }
      if (now - startedAt > waitFactor * patienceMs) {
        const hint = `remove ${path} if no process uses it`
        throw new ServiceError('storage_failed', 'an artefact stayed locked', { hint })
      }
      await delay(wait)
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
    async hold(hex, action) {
      const owner = ownerName(mark)
      const path = join(dir, hex)
      await acquire(path, owner)
      return run(path, owner, action)
    },

    async tryHold(hex, action) {
      const owner = ownerName(mark)
      const path = join(dir, hex)
      return create(path, owner) ? run(path, owner, action) : undefined
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
function mayBreak(owner: string, unchangedMs: number, patienceMs: number): boolean {
  const state = stateOf(owner)
  return state === 'gone' || (state === 'unknown' && unchangedMs > patienceMs)
}

/** Short enough to lie in the folder itself on common file systems. */
function ownerName(mark: string): string {
  return `${mark} ${randomBytes(4).toString('hex')}`
}

function stateOf(owner: string) {
  return markState(owner.split(' ')[0] ?? '')
}

/** Systems and disks without symlinks answer one of these. */
const noSymlinks = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EISDIR'])

/**
 * A symlink that points at its owner's name: it exists with its content or not at all, whenever
 * the process is killed, and needs no space on a full disk.
 */
function create(path: string, owner: string): boolean {
  try {
    fs.symlinkSync(owner, path)
    return true
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'EEXIST') return false
    if (errno === null || !noSymlinks.has(errno)) throw error
    return createFile(path, owner)
  }
}

function createFile(path: string, owner: string): boolean {
  try {
    fs.writeFileSync(path, owner, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    // On a full disk an empty lock file is left, which has no owner.
    fs.rmSync(path, { force: true })
    throw error
  }
}

/** Null when there is no lock (any more). */
function read(path: string): string | null {
  try {
    return fs.readlinkSync(path)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null
    if (!['EINVAL', 'UNKNOWN', 'EISDIR'].includes(errnoOf(error) ?? '')) throw error
  }
  try {
    return fs.readFileSync(path, 'utf8')
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null
    throw error
  }
}

function release(path: string, owner: string): void {
  // Another process may have taken over the stale lock by now.
  if (read(path) === owner) remove(path)
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
  const owner = read(aside)
  if (owner !== null && owner !== seen) create(path, owner)
  remove(aside)
}

/** Not `rmSync`, which in Node 24.9 leaves a link that has no target. */
function remove(path: string): void {
  try {
    fs.unlinkSync(path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
  }
}

/** Calls `changed` after each task that held a lock: every change holds one. */
export function telling(locks: EntryLocks, changed: () => void): EntryLocks {
  return { ...locks, hold: (hex, task) => locks.hold(hex, () => task().finally(changed)) }
}
