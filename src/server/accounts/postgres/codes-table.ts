import type { Database } from '../../artefacts/database/pool.ts'
import type { AccountRow, AccountStore } from '../account-store.ts'
import { accountColumns } from './columns.ts'

const invite = `INSERT INTO invites (username_key, hash, expires_at_ms) VALUES ($1, $2, $3)
  ON CONFLICT (username_key)
  DO UPDATE SET hash = excluded.hash, expires_at_ms = excluded.expires_at_ms`
const hasInvite =
  'SELECT 1 FROM invites WHERE username_key = $1 AND hash = $2 AND expires_at_ms > $3'
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
    async createInvite({ usernameKey, hash, expiresAtMs }) {
      const what = 'an invitation was not created'
      await database.change(what, invite, usernameKey, hash, expiresAtMs)
    },

    async hasInvite(usernameKey, hash, nowMs) {
      const what = 'an invitation was not found'
      return (await database.row(what, hasInvite, usernameKey, hash, nowMs)) !== null
    },

    createResetCode: async ({ accountId, hash, expiresAtMs }) =>
      (await database.change('a reset code was not created', reset, accountId, hash, expiresAtMs)) >
      0,

    findByResetCode: (hash, nowMs) =>
      database.row<AccountRow>('a reset code was not found', byCode, hash, nowMs),

    useResetCode: async (accountId, hash, nowMs) =>
      (await database.change('a reset code was not used', use, accountId, hash, nowMs)) > 0,
  } satisfies Partial<AccountStore>
}
