import { closeSync, lstatSync, openSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { errnoOf, ServiceError } from '../../../lib/util/errors.ts'
import { orStoreError, untilFree } from './database.ts'
import { connect } from './open-database.ts'

/**
 * Runs `action` while no other task of any process runs one under the same lock. The lock is that
 * of an empty database: the system lets go of it when its process ends, however that happens.
 * Waits `busyMs` at most, then throws `storage_failed`.
 */
export async function withProcessLock<Value>(
  file: string,
  busyMs: number,
  action: () => Promise<Value>,
): Promise<Value> {
  const db = await lock(file, busyMs, db => db.exec('BEGIN EXCLUSIVE'))
  try {
    return await action()
  } finally {
    db.close()
  }
}

/**
 * Keeps every `withProcessLock` on the file out until the returned function is called; any number
 * of processes may do so at the same time.
 */
export async function shareProcessLock(file: string, busyMs: number): Promise<() => void> {
  const db = await lock(file, busyMs, db => {
    if (!db.isTransaction) db.exec('BEGIN')
    db.prepare('SELECT 1 FROM sqlite_schema').get()
  })
  return () => {
    if (db.isOpen) db.close()
  }
}

function lock(
  file: string,
  busyMs: number,
  take: (db: DatabaseSync) => void,
): Promise<DatabaseSync> {
  return orStoreError(file, 'it was not locked', async () => {
    makeFile(file)
    const db = connect(file, 'rw')
    try {
      await untilFree(busyMs, () => take(db))
      return db
    } catch (error) {
      db.close()
      throw error
    }
  })
}

/**
 * At once: closing a descriptor later would drop a lock that this process got meanwhile (POSIX).
 */
function makeFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
    if (lstatSync(file).isFile()) return
    const hint = 'move it away'
    throw new ServiceError('registry_dir_unsafe', `${file} is not a regular file`, { hint })
  }
}
