import { closeSync, lstatSync, openSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, monotonicClock } from '../util/time.ts'
import { errnoOf, isDiskFull, ServiceError } from '../util/errors.ts'
import { fail, ok, type Result } from '../util/result.ts'

/** Errors of SQLite, in `errcode`; the upper bytes say more of the same. */
const sqliteBusy = 5
const retryMs = { least: 20, most: 50 } as const

interface LockOptions {
  /** How long to wait for other holders. */
  readonly waitMs: number
  /** What names another folder, for the hint of an error. */
  readonly setting?: string
  readonly clock?: Clock
}

/**
 * Takes the lock of `path`, a file for nothing else, against other processes and other holders in
 * this one. Returns the release, or `busy` after `waitMs`. The system releases it when the holder
 * dies: it is the lock of SQLite on an empty database. Throws `config_invalid` for what is not a
 * file, and `storage_failed` or `storage_full` when the file cannot be made or locked, as on some
 * network folders.
 */
export async function takeFileLock(
  path: string,
  options: LockOptions,
): Promise<Result<() => void, 'busy'>> {
  const { waitMs, clock = monotonicClock } = options
  try {
    makeFile(path)
    const { DatabaseSync } = await import('node:sqlite')
    const deadline = clock.now() + waitMs
    for (;;) {
      const release = tryLock(() => new DatabaseSync(path, { timeout: 0 }))
      if (release !== null) return ok(release)
      const leftMs = deadline - clock.now()
      if (leftMs <= 0) return fail('busy')
      // At different times for each, so that none is always the last.
      const pauseMs = retryMs.least + Math.random() * (retryMs.most - retryMs.least)
      await sleep(Math.min(pauseMs, leftMs))
    }
  } catch (error) {
    throw error instanceof ServiceError ? error : unlockable(path, error, options)
  }
}

/** Runs `action` under the lock of `path`. Throws as `takeFileLock` and `action` do. */
export async function withFileLock<Value>(
  path: string,
  options: LockOptions,
  action: () => Promise<Value>,
): Promise<Result<Value, 'busy'>> {
  const lock = await takeFileLock(path, options)
  if (!lock.ok) return lock
  try {
    return ok(await action())
  } finally {
    lock.value()
  }
}

interface Database {
  exec(sql: string): void
  close(): void
}

function tryLock(openDatabase: () => Database): (() => void) | null {
  let database: Database | null = null
  try {
    database = openDatabase()
    // Nothing is ever written: no file for a journal, which would need room on a full disk.
    database.exec('PRAGMA journal_mode = MEMORY')
    database.exec('BEGIN EXCLUSIVE')
    return () => {
      database?.close()
      database = null
    }
  } catch (error) {
    database?.close()
    if (isBusy(error)) return null
    throw error
  }
}

function isBusy(error: unknown): boolean {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined
  return typeof code === 'number' && (code & 0xff) === sqliteBusy
}

/**
 * Private to this user. Closed at once, before this process can have a lock on it: closing any
 * descriptor of a file drops the locks of the process (POSIX).
 */
function makeFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
    if (lstatSync(path).isFile()) return
    throw new ServiceError('config_invalid', `the lock file ${path} is not a regular file`, {
      hint: `remove ${path}`,
    })
  }
}

function unlockable(
  path: string,
  error: unknown,
  { setting = 'XDG_CONFIG_HOME' }: LockOptions,
): ServiceError {
  const code = errnoOf(error)
  if (isDiskFull(error)) {
    return new ServiceError('storage_full', `there is no room to write ${path} (${code})`, {
      cause: error,
      hint: 'free some space, then run the command again',
    })
  }
  return new ServiceError('storage_failed', `the lock file ${path} cannot be locked`, {
    cause: error,
    hint: `remove ${path}; if that does not help, choose a folder on a local disk with ${setting}`,
  })
}
