import type { AccountRow, AccountStore } from '../account-store.ts'
import { accountColumns } from './columns.ts'
import { type Database, isTaken } from './database.ts'
import { serviceTokenRevoker } from './service-tokens-table.ts'
import { insertSession } from './sessions-table.ts'
import { Undone } from '../store-rules.ts'

export function accountsTable(database: Database) {
  const select = `SELECT ${accountColumns} FROM accounts`
  const byId = database.prepare<AccountRow>(`${select} WHERE id = ?`)
  const byKey = database.prepare<AccountRow>(`${select} WHERE username_key = ?1 OR email_key = ?1
    ORDER BY username_key = ?1 DESC LIMIT 1`)
  const page = database.prepare<AccountRow>(
    `${select} WHERE username_key > ? ORDER BY username_key LIMIT ?`,
  )
  const insert = database.prepare(`INSERT INTO accounts (id, username, username_key, email,
    email_key, password_hash, created_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?)`)
  const useInvite = database.prepare(
    'DELETE FROM invites WHERE username_key = ? AND hash = ? AND expires_at_ms > ?',
  )
  const reserved = database.prepare(
    'SELECT 1 FROM reserved_names WHERE username_key = ? AND until_ms > ?',
  )
  const reserve = database.prepare(`INSERT INTO reserved_names (username_key, until_ms)
    VALUES (?, ?) ON CONFLICT DO UPDATE SET until_ms = excluded.until_ms`)
  const disable = database.prepare('UPDATE accounts SET disabled_at_ms = ? WHERE id = ?')
  const setTeam = database.prepare('UPDATE accounts SET team = ? WHERE id = ?')
  const setHash = database.prepare(`UPDATE accounts SET password_hash = ?2
    WHERE id = ?1 AND (?3 IS NULL OR password_hash = ?3)`)
  const endSessions = database.prepare<{ living: 0 | 1 }>(`UPDATE sessions
    SET revoked_at_ms = ?1, revoked_reason = 'password_changed'
    WHERE account_id = ?2 AND revoked_at_ms IS NULL AND id IS NOT ?3
    RETURNING expires_at_ms > ?1 AS living`)
  const dropCodes = database.prepare('DELETE FROM reset_codes WHERE account_id = ?')
  const dropFailures = database.prepare(`DELETE FROM login_failures WHERE name IN
    (SELECT username_key FROM accounts WHERE id = ?1
     UNION ALL SELECT email_key FROM accounts WHERE id = ?1)`)
  const remove = database.prepare<Pick<AccountRow, 'usernameKey'>>(
    'DELETE FROM accounts WHERE id = ? RETURNING username_key AS usernameKey',
  )
  const session = insertSession(database)
  const revokeTokens = serviceTokenRevoker(database)

  return {
    async createAccount(account, { inviteHash, session: first }) {
      const { id, usernameKey, createdAtMs } = account
      try {
        return await database.write('an account was not created', () => {
          // First: without an invitation no caller learns which names are taken.
          if (inviteHash !== undefined) {
            const { changes } = useInvite.run(usernameKey, inviteHash, createdAtMs)
            if (changes === 0) throw new Undone('invite_invalid')
          }
          if (reserved.get(usernameKey, createdAtMs) !== undefined) throw new Undone('taken')
          try {
            const { username, email, emailKey, passwordHash } = account
            insert.run(id, username, usernameKey, email, emailKey, passwordHash, createdAtMs)
          } catch (error) {
            throw isTaken(error) ? new Undone('taken') : error
          }
          session(first)
          return 'created'
        })
      } catch (error) {
        if (error instanceof Undone) return error.outcome
        throw error
      }
    },

    findAccount: key => database.read('an account was not found', () => byKey.get(key) ?? null),
    getAccount: id => database.read('an account was not found', () => byId.get(id) ?? null),
    listAccounts: ({ after = '', limit }) =>
      database.read('accounts were not listed', () => page.all(after, limit)),

    setDisabled: (id, disabledAtMs) =>
      database.write('an account was not changed', () => disable.run(disabledAtMs, id).changes > 0),

    setTeam: (id, team) =>
      database.write('an account was not changed', () => setTeam.run(team, id).changes > 0),

    replaceHash: (id, oldHash, newHash) =>
      database.write(
        'a password hash was not replaced',
        () => setHash.run(id, newHash, oldHash).changes > 0,
      ),

    changePassword: ({ id, oldHash, newHash, keepSessionId, endTokens, nowMs }) =>
      database.write('a password was not changed', () => {
        if (setHash.run(id, newHash, oldHash).changes === 0) return null
        const sessions = endSessions.all(nowMs, id, keepSessionId)
        dropCodes.run(id)
        dropFailures.run(id)
        return {
          sessions: sessions.filter(({ living }) => living === 1).length,
          tokens: endTokens ? revokeTokens(id, nowMs) : [],
        }
      }),

    deleteAccount: (id, nameReservedUntilMs) =>
      database.write('an account was not deleted', () => {
        dropFailures.run(id)
        // What belongs to it goes with it (ON DELETE CASCADE).
        const row = remove.get(id)
        if (row === undefined) return false
        reserve.run(row.usernameKey, nameReservedUntilMs)
        return true
      }),
  } satisfies Partial<AccountStore>
}
