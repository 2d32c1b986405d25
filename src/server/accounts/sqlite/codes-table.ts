import type { AccountStore } from '../account-store.ts'
import type { Database } from './database.ts'
import { accountColumns, toAccount } from './row.ts'

export type CodeMethods = Pick<
  AccountStore,
  | 'createInvite'
  | 'hasInvite'
  | 'deleteInvite'
  | 'createResetCode'
  | 'findByResetCode'
  | 'useResetCode'
>

/** Invitations (used up where accounts are created) and codes for a lost password. */
export function codesTable(database: Database): CodeMethods {
  const invite = database.prepare(
    'INSERT INTO invites (hash, created_at_ms, expires_at_ms) VALUES (?, ?, ?)',
  )
  const hasInvite = database.prepare('SELECT 1 FROM invites WHERE hash = ? AND expires_at_ms > ?')
  const deleteInvite = database.prepare('DELETE FROM invites WHERE hash = ?')
  const reset = database.prepare(`INSERT INTO reset_codes (account_id, hash, expires_at_ms)
    SELECT id, ?2, ?3 FROM accounts WHERE id = ?1
    ON CONFLICT DO UPDATE SET hash = excluded.hash, expires_at_ms = excluded.expires_at_ms`)
  const byCode = database.prepare(`SELECT ${accountColumns} FROM reset_codes
    JOIN accounts ON accounts.id = account_id WHERE hash = ? AND expires_at_ms > ?`)
  const use = database.prepare(
    'DELETE FROM reset_codes WHERE account_id = ? AND hash = ? AND expires_at_ms > ?',
  )

  return {
    createInvite: ({ hash, createdAtMs, expiresAtMs }) =>
      database.write('an invitation was not created', () => {
        invite.run(hash, createdAtMs, expiresAtMs)
      }),

    hasInvite: (hash, nowMs) =>
      database.read('an invitation was not found', () => hasInvite.get(hash, nowMs) !== undefined),

    deleteInvite: hash =>
      database.write('an invitation was not deleted', () => {
        deleteInvite.run(hash)
      }),

    createResetCode: ({ accountId, hash, expiresAtMs }) =>
      database.write(
        'a reset code was not created',
        () => reset.run(accountId, hash, expiresAtMs).changes > 0,
      ),

    findByResetCode: (hash, nowMs) =>
      database.read('a reset code was not found', () => {
        const row = byCode.get(hash, nowMs)
        return row === undefined ? null : toAccount(row)
      }),

    useResetCode: (accountId, hash, nowMs) =>
      database.write(
        'a reset code was not used',
        () => use.run(accountId, hash, nowMs).changes > 0,
      ),
  }
}
