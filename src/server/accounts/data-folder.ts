import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../lib/util/time.ts'
import { errnoOf, isMissing, ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { openDataFolder } from './sqlite/check-files.ts'
import { takeFileLock, withFileLock } from '../../lib/config/file-lock.ts'
import { openSqliteStore, type SqliteStore } from './sqlite/sqlite-store.ts'

export interface DataFiles {
  readonly database: string
  readonly keys: string
  /** The key that the signing keys in PostgreSQL are encrypted with. */
  readonly wrappingKey: string
  /** Shared by everything that has the database open; a restore has it alone. */
  readonly lock: string
  /**
   * There while a restore is under way: of one that was killed, database and keys may not match.
   */
  readonly unfinished: string
}

/** Which files of the data folder hold what. */
export function dataFiles(dataDir: string): DataFiles {
  return {
    database: join(dataDir, 'registry.db'),
    keys: join(dataDir, 'keys.json'),
    wrappingKey: join(dataDir, 'wrapping.key'),
    lock: join(dataDir, 'registry.lock'),
    unfinished: join(dataDir, 'restore-unfinished'),
  }
}

/** What names another folder. */
const setting = '--data-dir'

interface DataFolderOptions {
  readonly dataDir: string
  readonly clock: Clock
  readonly log: Logger
  readonly busyMs: number
  /** Make folder and database when there are none. Default true. */
  readonly create?: boolean
}

/** The accounts of the folder, which is not replaced by a restore until they are closed. */
export async function openAccountsStore(options: DataFolderOptions): Promise<SqliteStore> {
  const { dataDir, clock, log, busyMs, create = true } = options
  const files = dataFiles(dataDir)
  if (!create) await requireAccounts(dataDir)
  await openDataFolder(dataDir, log)
  const lock = await takeFileLock(files.lock, { waitMs: busyMs, shared: true, setting })
  if (!lock.ok) {
    const hint = 'try again when the restore has ended'
    throw new ServiceError('storage_failed', `${dataDir} is being restored`, { hint })
  }
  const release = lock.value
  try {
    if (await isThere(files.unfinished)) throw unfinished(dataDir)
    const store = await openSqliteStore({ file: files.database, clock, log, busyMs, create })
    return {
      ...store,
      async close() {
        await store.close().finally(release)
      },
    }
  } catch (error) {
    release()
    throw error
  }
}

/** Throws `storage_failed` when the folder has no accounts, or those of half a restore. */
async function requireAccounts(dataDir: string): Promise<void> {
  const files = dataFiles(dataDir)
  if (!(await isThere(files.database))) throw absent(dataDir)
  if (await isThere(files.unfinished)) throw unfinished(dataDir)
}

/**
 * Runs `action` while nothing has the database open. Throws `storage_failed` when something has.
 */
export async function withFolderAlone<Value>(
  { dataDir, log, busyMs }: Pick<DataFolderOptions, 'dataDir' | 'log' | 'busyMs'>,
  action: () => Promise<Value>,
): Promise<Value> {
  await openDataFolder(dataDir, log)
  const lock = dataFiles(dataDir).lock
  const done = await withFileLock(lock, { waitMs: busyMs, setting }, action)
  if (done.ok) return done.value
  throw new ServiceError('storage_failed', `an accounts server is running on ${dataDir}`, {
    hint: 'stop it, and repeat the command',
  })
}

export async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    if (isMissing(error)) return false
    throw new ServiceError('storage_failed', `${path} cannot be accessed (${errnoOf(error)})`, {
      cause: error,
      hint: 'run this as the user that the accounts server runs as',
    })
  }
}

function absent(dataDir: string): ServiceError {
  const hint =
    'name its folder with --data-dir, or its database with SERVICE_DATABASE_URL; service-cli registry makes one'
  return new ServiceError('storage_failed', `there is no accounts server in ${dataDir}`, { hint })
}

function unfinished(dataDir: string): ServiceError {
  const hint = 'repeat service-cli registry restore with --force'
  return new ServiceError('storage_failed', `a restore of ${dataDir} did not finish`, { hint })
}
