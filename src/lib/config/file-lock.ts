import { lstat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, monotonicClock } from '../util/time.ts'
import { errnoOf, ServiceError } from '../util/errors.ts'
import { fail, ok, type Result } from '../util/result.ts'

/** Errors of SQLite, in `errcode`; the upper bytes say more of the same. */
const sqliteBusy = 5
const retryMs = { least: 20, most: 50 } as const

interface LockOptions {
  /** How long to wait for whoever has it. */
  readonly waitMs: number
  readonly clock?: Clock
}

/**
 * Takes the lock of `path`, a file for nothing else, for this process against all others and
 * against other holders in this one. The system gives it up when the holder dies, however it dies:
 * it is the lock of SQLite on an empty database. `busy` after `waitMs`. Throws `storage_failed`
 * when the system has no such lock there (some network folders).
 */
export async function takeFileLock(
  path: string,
  { waitMs, clock = monotonicClock }: LockOptions,
): Promise<Result<() => void, 'busy'>> {
  await refuseLink(path)
  const { DatabaseSync } = await import('node:sqlite')
  const deadline = clock.now() + waitMs
  for (;;) {
    const release = tryLock(() => new DatabaseSync(path, { timeout: 0 }), path)
    if (release !== null) return ok(release)
    const leftMs = deadline - clock.now()
    if (leftMs <= 0) return fail('busy')
    // At different times for each, so that none is always the last.
    const pauseMs = retryMs.least + Math.random() * (retryMs.most - retryMs.least)
    await sleep(Math.min(pauseMs, leftMs))
  }
}

interface Database {
  exec(sql: string): void
  close(): void
}

function tryLock(openDatabase: () => Database, path: string): (() => void) | null {
  let database: Database | null = null
  try {
    database = openDatabase()
    // Nothing is ever written: no file for a journal, which would need room on a full disk.
    database.exec('PRAGMA journal_mode = MEMORY')
    database.exec('BEGIN EXCLUSIVE')
    return () => database?.close()
  } catch (error) {
    database?.close()
    if (isBusy(error)) return null
    throw new ServiceError('storage_failed', `the lock file ${path} cannot be locked`, {
      hint: `remove ${path}; if that does not help, choose a folder on a local disk with XDG_CONFIG_HOME`,
    })
  }
}

function isBusy(error: unknown): boolean {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined
  return typeof code === 'number' && (code & 0xff) === sqliteBusy
}

/**
 * SQLite itself makes the file: opening and closing it here would, as POSIX has it, drop the lock
 * that another part of this process holds. Its folder is closed to others.
 */
async function refuseLink(path: string): Promise<void> {
  const found = await lstat(path).catch(error => {
    if (errnoOf(error) === 'ENOENT') return null
    throw error
  })
  if (found === null || found.isFile()) return
  throw new ServiceError('config_invalid', `the lock file ${path} is not a regular file`, {
    hint: `remove ${path}`,
  })
}
