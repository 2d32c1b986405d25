import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../../lib/util/clock.ts'
import { type Logger, silentLogger } from '../../../lib/util/logger.ts'
import { defaultLimits } from '../../../lib/config/limits.ts'
import type { AccountStore } from '../account-store.ts'
import { accountsTable } from './accounts-table.ts'
import { auditTable } from './audit-table.ts'
import { backupDatabase } from './backup.ts'
import { codesTable } from './codes-table.ts'
import { type Database, createDatabase } from './database.ts'
import { failuresTable } from './failures-table.ts'
import { watchFiles } from './file-identity.ts'
import { openDatabase } from './open-database.ts'
import { text } from './row.ts'
import { migrations } from './schema.ts'
import { serviceTokensTable } from './service-tokens-table.ts'
import { sessionsTable } from './sessions-table.ts'
import { sweeper } from './sweep.ts'

export interface SqliteStoreOptions {
  /** Its folder becomes private to this user. */
  readonly file: string
  /** The key file. Once it was there, changes are refused while it is missing. */
  readonly keys?: string
  readonly clock: Clock
  readonly log?: Logger
  /** Default `maxStoreWaitMs` of the limits. */
  readonly busyMs?: number
  /** Make the database when there is none. Default true. */
  readonly create?: boolean
  /** The lock of running servers. Changes are refused once it was deleted or replaced. */
  readonly lock?: string
}

/**
 * Opens the registry's database, which several processes may do at once. Throws
 * `registry_dir_unsafe` for files that are not safely ours, `storage_failed`, naming the file and
 * what to do, for what is damaged, foreign, cut, of a newer version or cannot be written;
 * `storage_full`.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<AccountStore> {
  const { file, clock, log = silentLogger, create = true } = options
  const { busyMs = defaultLimits.maxStoreWaitMs } = options
  const db = await openDatabase({ file, clock, log, busyMs, create, migrations })
  try {
    // Reading makes what SQLite keeps beside the file.
    db.prepare('SELECT value FROM meta').get()
    const watch = watchFiles({ database: file, keys: options.keys, lock: options.lock }, log)
    const database = createDatabase(db, { file, busyMs, watch })
    return createStore(db, database, { file, clock, log, busyMs, watch })
  } catch (error) {
    db.close()
    throw error
  }
}

interface Context {
  readonly file: string
  readonly clock: Clock
  readonly log: Logger
  readonly busyMs: number
  readonly watch: () => void
}

/** `readyz` is public, and each test write waits for the disk. */
const testWriteEveryMs = 1000

function createStore(db: DatabaseSync, database: Database, context: Context): AccountStore {
  const { file, clock, log, busyMs, watch } = context
  const meta = database.prepare('SELECT value FROM meta WHERE name = ?')
  const registryId = text(meta.get('registry_id') ?? {}, 'value')
  const testWrite = database.prepare(`INSERT INTO meta (name, value) VALUES ('test_write', ?)
    ON CONFLICT DO UPDATE SET value = excluded.value`)
  let writtenMs = -Infinity

  return {
    registryId,
    ...accountsTable(database),
    ...sessionsTable(database),
    ...serviceTokensTable(database),
    ...codesTable(database),
    ...failuresTable(database),
    ...auditTable(database),
    ...sweeper(database),

    backup: target => backupDatabase(file, target, busyMs),

    async ping() {
      const nowMs = clock.now()
      await database.read('it cannot be read', () => meta.get('registry_id'))
      watch()
      // `abs`: a clock that was set back.
      if (Math.abs(nowMs - writtenMs) < testWriteEveryMs) return
      await database.write('it cannot be written', () => testWrite.run(String(nowMs)))
      writtenMs = nowMs
    },

    async close() {
      if (!db.isOpen) return
      try {
        db.exec('PRAGMA optimize')
      } catch (error) {
        // Only costs speed: a full disk must not keep anybody from closing.
        log.debug({ err: error }, 'the database was not optimised')
      }
      db.close()
    },
  }
}
