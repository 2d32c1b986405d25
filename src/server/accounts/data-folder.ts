import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../lib/util/time.ts'
import { errnoOf, isMissing, ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { openDataFolder } from './sqlite/check-files.ts'
import { openSqliteStore, type SqliteStore } from './sqlite/sqlite-store.ts'

export interface DataFiles {
  readonly database: string
  readonly keys: string
  /** The key that the signing keys in PostgreSQL are encrypted with. */
  readonly wrappingKey: string
}

/** Which files of the data folder hold what. */
export function dataFiles(dataDir: string): DataFiles {
  return {
    database: join(dataDir, 'registry.db'),
    keys: join(dataDir, 'keys.json'),
    wrappingKey: join(dataDir, 'wrapping.key'),
  }
}

interface DataFolderOptions {
  readonly dataDir: string
  readonly clock: Clock
  readonly log: Logger
  readonly busyMs: number
  /** Make folder and database when there are none. Default true. */
  readonly create?: boolean
}

/** The accounts of the folder. */
export async function openAccountsStore(options: DataFolderOptions): Promise<SqliteStore> {
  const { dataDir, clock, log, busyMs, create = true } = options
  const files = dataFiles(dataDir)
  if (!create) await requireAccounts(dataDir)
  await openDataFolder(dataDir, log)
  return openSqliteStore({ file: files.database, clock, log, busyMs, create })
}

/** Throws `storage_failed` when the folder has no accounts. */
async function requireAccounts(dataDir: string): Promise<void> {
  const files = dataFiles(dataDir)
  if (!(await isThere(files.database))) throw absent(dataDir)
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
