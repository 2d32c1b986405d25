import type { Database } from '../../database/pool.ts'
import type { AccountRow, AccountStore } from '../account-store.ts'
import { accountColumns } from './columns.ts'

const invite = 'INSERT INTO invites (hash, created_at_ms, expires_at_ms) VALUES ($1, $2, $3)'
const hasInvite = 'SELECT 1 FROM invites WHERE hash = $1 AND expires_at_ms > $2'
const reset = `INSERT INTO reset_codes (account_id, hash, expires_at_ms)
  SELECT id, $2, $3::bigint FROM accounts WHERE id = $1 FOR SHARE
  ON CONFLICT (account_id)
  DO UPDATE SET hash = excluded.hash, expires_at_ms = excluded.expires_at_ms`
const byCode = `SELECT ${accountColumns} FROM accounts WHERE id =
  (SELECT account_id FROM reset_codes WHERE hash = $1 AND expires_at_ms > $2 LIMIT 1)`
const use = 'DELETE FROM reset_codes WHERE account_id = $1 AND hash = $2 AND expires_at_ms > $3'

/** Invitations (used up where accounts are created) and codes for a lost password. */
export function codesTable(database: Database) {
  return {
    createInvite: ({ hash, createdAtMs, expiresAtMs }) =>
      database.run('an invitation was not created', async queries => {
        await queries.change(invite, hash, createdAtMs, expiresAtMs)
      }),

    hasInvite: (hash, nowMs) =>
      database.run(
        'an invitation was not found',
        async queries => (await queries.row(hasInvite, hash, nowMs)) !== null,
      ),

    deleteInvite: hash =>
      database.run('an invitation was not deleted', async queries => {
        await queries.change('DELETE FROM invites WHERE hash = $1', hash)
      }),

    createResetCode: ({ accountId, hash, expiresAtMs }) =>
      database.run(
        'a reset code was not created',
        async queries => (await queries.change(reset, accountId, hash, expiresAtMs)) > 0,
      ),

    findByResetCode: (hash, nowMs) =>
      database.run(
        'a reset code was not found',
        async queries => (await queries.row<AccountRow>(byCode, hash, nowMs)) ?? null,
      ),

    useResetCode: (accountId, hash, nowMs) =>
      database.run(
        'a reset code was not used',
        async queries => (await queries.change(use, accountId, hash, nowMs)) > 0,
      ),
  } satisfies Partial<AccountStore>
}
