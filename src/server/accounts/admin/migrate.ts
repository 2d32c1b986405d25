import { type Clock, systemClock } from '../../../lib/util/time.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { defaultLimits } from '../../../lib/config/limits.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { type Database, openDatabase } from '../../database/pool.ts'
import type { DatabaseSettings } from '../../database/settings.ts'
import { adminLimits } from '../admin-limits.ts'
import { dataFiles, requireAccounts, withFolderAlone } from '../data-folder.ts'
import { readKeyText, writeKeyText } from '../keys/file-keys.ts'
import { absent } from '../open-accounts.ts'
import { hasAccounts, openPostgresStore } from '../postgres/postgres-store.ts'
import { postgresKeys } from '../postgres/postgres-keys.ts'
import { readDatabaseTables, writeDatabaseTables } from '../postgres/table-rows.ts'
import { readFileTables, writeFileTables } from '../sqlite/table-rows.ts'
import { copyTables } from '../tables.ts'
import { openAdmin } from './open-admin.ts'

interface MigrateOptions {
  readonly to: 'database' | 'files'
  /** The folder of the files, and in both directions of the wrapping key. */
  readonly dataDir: string
  readonly database: DatabaseSettings
  readonly log: Logger
  readonly clock?: Clock
}

/**
 * Copies accounts and keys from the files to the database, or back. Refuses a target with accounts.
 * An interrupted copy leaves no accounts at the target, and can be repeated.
 */
export async function migrate(options: MigrateOptions) {
  const { to, dataDir, database: settings, log, clock = systemClock } = options
  const busyMs = defaultLimits.maxStoreWaitMs
  const files = dataFiles(dataDir)
  if (to === 'database') await requireAccounts(dataDir)
  const alone = { dataDir, log, busyMs: adminLimits.restoreWaitMs }
  const made = await withFolderAlone(alone, async () => {
    const database = await openDatabase({ settings, log, waitMs: busyMs })
    const keysOf = (registryId: string) =>
      postgresKeys({ database, file: files.wrappingKey, registryId, log })
    const fileOptions = { file: files.database, clock, log, busyMs }
    try {
      if (to === 'database') {
        return await readFileTables(fileOptions, async reader => {
          const { registryId } = reader
          const keys = await readKeyText(files.keys, log)
          if (keys === null) throw noKeys(files.keys)
          await openPostgresStore(database)
          const tables = await writeDatabaseTables(
            database,
            registryId,
            async (writer, queries) => {
              await keysOf(registryId).replace(queries, keys)
              return copyTables(reader, writer)
            },
          )
          return { from: dataDir, to: database.name, registryId, tables }
        })
      }
      const { registryId } = await openFilled(database, settings)
      const keys = await keysOf(registryId).read()
      if (keys === null) throw noKeys(`the signing keys in ${database.name}`)
      await refuseOtherKeys(files.keys, keys, log)
      return await readDatabaseTables(database, registryId, async reader => {
        const tables = await writeFileTables({ ...fileOptions, registryId }, async writer => {
          const copied = await copyTables(reader, writer)
          await writeKeyText(files.keys, keys, log)
          return copied
        })
        return { from: database.name, to: dataDir, registryId, tables }
      })
    } finally {
      await database.close()
    }
  })
  const target = to === 'database' ? { dataDir, database: settings } : { dataDir }
  await using admin = await openAdmin({ ...target, log, clock })
  await admin.record('registry.migrated', null, { from: made.from })
  const { registryId: registry_id, ...rest } = made
  return { ...rest, registry_id }
}

async function openFilled(database: Database, settings: DatabaseSettings) {
  if (!(await hasAccounts(database))) throw absent(settings)
  return openPostgresStore(database)
}

async function refuseOtherKeys(file: string, keys: string, log: Logger): Promise<void> {
  const there = await readKeyText(file, log)
  if (there === null || there === keys) return
  throw new ServiceError('file_exists', `${file} holds other keys`, {
    hint: 'move it away, or name another --data-dir',
  })
}

function noKeys(what: string): ServiceError {
  return new ServiceError('storage_failed', `there are accounts, and no keys: ${what} is missing`, {
    hint: 'start the accounts server once: it makes new keys, and every user logs in again',
  })
}
