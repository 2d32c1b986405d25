import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../../lib/util/time.ts'
import { type Logger, silentLogger } from '../../../lib/util/logger.ts'
import { storeDefaults } from '../../database/limits.ts'
import type { AccountRow, AccountStore, LoginFailures } from '../account-store.ts'
import {
  inBatches,
  maxFailureRows,
  sweepBatch,
  testWriteEveryMs,
  trimFailuresEvery,
} from '../store-rules.ts'
import { accountsTable } from './accounts-table.ts'
import { auditTable } from './audit-table.ts'
import { backupDatabase } from './backup.ts'
import { accountColumns } from './columns.ts'
import { createDatabase, type Database } from './database.ts'
import { openDatabase } from './open-database.ts'
import { serviceTokensTable } from './service-tokens-table.ts'
import { sessionsTable } from './sessions-table.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'

export interface SqliteStore extends AccountStore {
  /** A consistent copy while others write; `target` must not exist. */
  backup(target: string): Promise<void>
}

interface SqliteStoreOptions {
  /** Its folder becomes private to this user. */
  readonly file: string
  readonly clock: Clock
  readonly log?: Logger
  /** Default `maxStoreWaitMs` of the limits. */
  readonly busyMs?: number
  /** Make the database when there is none. Default true. */
  readonly create?: boolean
}

/**
 * Opens the accounts server's database, which several processes may do at once. Throws
 * `registry_dir_unsafe` for files that are not safely ours, `storage_failed`, naming the file and
 * what to do, for what is damaged, foreign, cut, of a newer version or cannot be written;
 * `storage_full`.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  const { file, clock, log = silentLogger, create = true } = options
  const { busyMs = storeDefaults.maxStoreWaitMs } = options
  const db = await openDatabase({ file, log, busyMs, create })
  try {
    // Reading makes what SQLite keeps beside the file.
    db.prepare('SELECT value FROM meta').get()
    const database = createDatabase(db, { file, busyMs })
    return createStore(db, database, { file, clock, log, busyMs })
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
}

function createStore(db: DatabaseSync, database: Database, context: Context): SqliteStore {
  const { file, clock, log, busyMs } = context
  const meta = database.prepare<{ value: string }>('SELECT value FROM meta WHERE name = ?')
  const registryId = meta.get('registry_id')?.value ?? ''
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
        // Only costs speed: a full disk must not prevent closing.
        log.debug({ err: error }, 'the database was not optimised')
      }
      db.close()
    },
  }
}

/** One statement for each kind of row that is over. */
const sweeps: readonly string[] = [
  `DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE expires_at_ms < ?1
     UNION SELECT id FROM sessions WHERE revoked_at_ms < ?1 LIMIT ${sweepBatch})`,
  `DELETE FROM service_tokens WHERE id IN (SELECT id FROM service_tokens
     WHERE expires_at_ms < ?1 OR revoked_at_ms < ?1 LIMIT ${sweepBatch})`,
  `DELETE FROM invites WHERE username_key IN
     (SELECT username_key FROM invites WHERE expires_at_ms < ?1 LIMIT ${sweepBatch})`,
  `DELETE FROM reset_codes WHERE account_id IN
     (SELECT account_id FROM reset_codes WHERE expires_at_ms < ?1 LIMIT ${sweepBatch})`,
  `DELETE FROM reserved_names WHERE username_key IN
     (SELECT username_key FROM reserved_names WHERE until_ms < ?1 LIMIT ${sweepBatch})`,
  `DELETE FROM audit WHERE id IN
     (SELECT id FROM audit WHERE keep_until_ms < ?1 LIMIT ${sweepBatch})`,
  `DELETE FROM login_failures WHERE (name, source) IN
     (SELECT name, source FROM login_failures WHERE forgotten_at_ms < ?1 LIMIT ${sweepBatch})`,
]

function sweeper(database: Database): Pick<AccountStore, 'sweep'> {
  const statements = sweeps.map(sql => database.prepare(sql))
  return {
    async sweep(beforeMs) {
      let swept = 0
      for (const statement of statements) {
        swept += await inBatches(async () => {
          const { changes } = await database.write('what is over was not removed', () =>
            statement.run(beforeMs),
          )
          await nextTurn()
          return Number(changes)
        })
      }
      return swept
    },
  }
}

/** Invitations (used up where accounts are created) and codes for a lost password. */
function codesTable(database: Database) {
  const invite = database.prepare(`INSERT INTO invites (username_key, hash, expires_at_ms)
    VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET hash = excluded.hash, expires_at_ms = excluded.expires_at_ms`)
  const hasInvite = database.prepare(
    'SELECT 1 FROM invites WHERE username_key = ? AND hash = ? AND expires_at_ms > ?',
  )
  const reset = database.prepare(`INSERT INTO reset_codes (account_id, hash, expires_at_ms)
    SELECT id, ?2, ?3 FROM accounts WHERE id = ?1
    ON CONFLICT DO UPDATE SET hash = excluded.hash, expires_at_ms = excluded.expires_at_ms`)
  const byCode = database.prepare<AccountRow>(`SELECT ${accountColumns} FROM accounts WHERE id =
    (SELECT account_id FROM reset_codes WHERE hash = ? AND expires_at_ms > ?)`)
  const use = database.prepare(
    'DELETE FROM reset_codes WHERE account_id = ? AND hash = ? AND expires_at_ms > ?',
  )

  return {
    createInvite: ({ usernameKey, hash, expiresAtMs }) =>
      database.write('an invitation was not created', () => {
        invite.run(usernameKey, hash, expiresAtMs)
      }),

    hasInvite: (usernameKey, hash, nowMs) =>
      database.read(
        'an invitation was not found',
        () => hasInvite.get(usernameKey, hash, nowMs) !== undefined,
      ),

    createResetCode: ({ accountId, hash, expiresAtMs }) =>
      database.write(
        'a reset code was not created',
        () => reset.run(accountId, hash, expiresAtMs).changes > 0,
      ),

    findByResetCode: (hash, nowMs) =>
      database.read('a reset code was not found', () => byCode.get(hash, nowMs) ?? null),

    useResetCode: (accountId, hash, nowMs) =>
      database.write(
        'a reset code was not used',
        () => use.run(accountId, hash, nowMs).changes > 0,
      ),
  } satisfies Partial<AccountStore>
}

function failuresTable(database: Database) {
  const select = `SELECT source, forgotten_at_ms AS forgottenAtMs, last_ms AS lastMs
    FROM login_failures WHERE name = ?`
  const find = database.prepare<LoginFailures>(`${select} AND source = ?`)
  const list = database.prepare<LoginFailures>(`${select} ORDER BY source`)
  // A row from the future was written before the clock was set back: it counts as none. Not one
  // of the last moments, which another process may have written while this one waited.
  const add = database.prepare(`
    INSERT INTO login_failures (name, source, forgotten_at_ms, last_ms)
    VALUES (?1, ?2, ?3 + ?4, ?3)
    ON CONFLICT DO UPDATE SET
      forgotten_at_ms = iif(last_ms > ?3 + ?4, ?3, max(forgotten_at_ms, ?3)) + ?4,
      last_ms = ?3`)
  const clear = database.prepare(
    'DELETE FROM login_failures WHERE name = ?1 AND (?2 IS NULL OR source = ?2)',
  )
  const trim = database.prepare(`DELETE FROM login_failures WHERE (name, source) IN
    (SELECT name, source FROM login_failures ORDER BY forgotten_at_ms DESC LIMIT -1 OFFSET ?)`)
  let added = 0

  return {
    findFailures: (name, source) =>
      database.read('failed logins were not found', () => find.get(name, source) ?? null),

    listFailures: name => database.read('failed logins were not listed', () => list.all(name)),

    addFailure: (name, sources, nowMs, forgetMs) =>
      database.write('a failed login was not recorded', () => {
        for (const source of sources) add.run(name, source, nowMs, forgetMs)
        if (++added % trimFailuresEvery === 0) trim.run(maxFailureRows)
      }),

    clearFailures: (name, source) =>
      database.write('failed logins were not cleared', () => {
        clear.run(name, source ?? null)
      }),
  } satisfies Partial<AccountStore>
}
