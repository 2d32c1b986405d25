import { migrate } from '../../artefacts/database/migrations.ts'
import type { Database } from '../../artefacts/database/pool.ts'
import type { AccountStore } from '../account-store.ts'
import { inBatches, sweepBatch } from '../store-rules.ts'
import { accountsTable } from './accounts-table.ts'
import { auditTable } from './audit-table.ts'
import { codesTable } from './codes-table.ts'
import { failuresTable } from './failures-table.ts'
import { migrations } from './schema.ts'
import { serviceTokensTable } from './service-tokens-table.ts'
import { sessionsTable } from './sessions-table.ts'

const readId = `SELECT value AS "registryId" FROM accounts_meta WHERE name = 'registry_id'`
const testWrite = `UPDATE accounts_meta SET value = now()::text WHERE name = 'test_write'`

/** True when an accounts server has made its tables in this database. */
export async function hasAccounts(database: Database): Promise<boolean> {
  const sql = `SELECT to_regclass('accounts_meta') IS NOT NULL AS found`
  return (await database.one<{ found: boolean }>('it cannot be read', sql)).found
}

/**
 * The accounts in a PostgreSQL database, which any number of accounts servers may share. Makes
 * their tables when they are missing. Closing the store closes the database.
 */
export async function openPostgresStore(database: Database): Promise<AccountStore> {
  await migrate(database, 'accounts', migrations)
  const { registryId } = await database.one<{ registryId: string }>('it cannot be read', readId)
  return {
    registryId,
    ...accountsTable(database),
    ...sessionsTable(database),
    ...serviceTokensTable(database),
    ...codesTable(database),
    ...failuresTable(database),
    ...auditTable(database),

    async sweep(beforeMs) {
      let swept = 0
      for (const sql of sweeps) {
        swept += await inBatches(() =>
          database.change('what is over was not removed', sql, beforeMs),
        )
      }
      return swept
    },

    async ping() {
      await database.change('it cannot be written', testWrite)
    },

    close: () => database.close(),
  }
}

/** A statement for each table with rows that expire. Skips rows that another sweep is removing. */
const sweeps = [
  ['sessions', 'id', 'expires_at_ms < $1 OR revoked_at_ms < $1'],
  ['service_tokens', 'id', 'expires_at_ms < $1 OR revoked_at_ms < $1'],
  ['invites', 'username_key', 'expires_at_ms < $1'],
  ['reset_codes', 'account_id', 'expires_at_ms < $1'],
  ['reserved_names', 'username_key', 'until_ms < $1'],
  ['accounts_audit', 'id', 'keep_until_ms < $1'],
  ['login_failures', 'name, source', 'forgotten_at_ms < $1'],
].map(
  ([table, key, isOver]) => `DELETE FROM ${table} WHERE (${key}) IN
    (SELECT ${key} FROM ${table} WHERE ${isOver} LIMIT ${sweepBatch} FOR UPDATE SKIP LOCKED)`,
)
