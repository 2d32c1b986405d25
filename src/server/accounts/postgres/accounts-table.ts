import type { Database } from '../../artefacts/database/pool.ts'
import type { AccountRow, AccountStore } from '../account-store.ts'
import { accountColumns } from './columns.ts'
import { revokeServiceTokens } from './service-tokens-table.ts'
import { insertSession } from './sessions-table.ts'
import { Undone } from '../store-rules.ts'

const select = `SELECT ${accountColumns} FROM accounts`
const byKey = `${select} WHERE username_key = $1 OR email_key = $1
  ORDER BY username_key = $1 DESC LIMIT 1`
const useInvite = 'DELETE FROM invites WHERE username_key = $1 AND hash = $2 AND expires_at_ms > $3'
const findReserved = 'SELECT 1 FROM reserved_names WHERE username_key = $1 AND until_ms > $2'
const insert = `INSERT INTO accounts (id, username, username_key, email, email_key, password_hash,
  created_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`
const setHash = `UPDATE accounts SET password_hash = $2
  WHERE id = $1 AND ($3::text IS NULL OR password_hash = $3)`
const endSessions = `UPDATE sessions SET revoked_at_ms = $1, revoked_reason = 'password_changed'
  WHERE account_id = $2 AND revoked_at_ms IS NULL AND id IS DISTINCT FROM $3
  RETURNING expires_at_ms > $1 AS living`
const dropFailures = `DELETE FROM login_failures WHERE name IN
  (SELECT unnest(ARRAY[username_key, email_key]) FROM accounts WHERE id = $1)`
const reserve = `INSERT INTO reserved_names (username_key, until_ms) VALUES ($1, $2)
  ON CONFLICT (username_key) DO UPDATE SET until_ms = excluded.until_ms`

export function accountsTable(database: Database) {
  return {
    async createAccount(account, { inviteHash, session }) {
      const { id, usernameKey, createdAtMs } = account
      try {
        await database.transact('an account was not created', async queries => {
          // First: without an invitation no caller learns which names are taken.
          if (inviteHash !== undefined) {
            const used = await queries.change(useInvite, usernameKey, inviteHash, createdAtMs)
            if (used === 0) throw new Undone('invite_invalid')
          }
          const { username, email, emailKey, passwordHash } = account
          const values = [id, username, usernameKey, email, emailKey, passwordHash] as const
          const created = await queries.change(insert, ...values, createdAtMs)
          if (created === 0) throw new Undone('taken')
          // After the insert, which waits for a deletion of the name that is under way.
          const reserved = await queries.row(findReserved, usernameKey, createdAtMs)
          if (reserved !== null) throw new Undone('taken')
          await insertSession(queries, session)
        })
        return 'created'
      } catch (error) {
        if (error instanceof Undone) return error.outcome
        throw error
      }
    },

    findAccount: key => database.row<AccountRow>('an account was not found', byKey, key),

    getAccount: id =>
      database.row<AccountRow>('an account was not found', `${select} WHERE id = $1`, id),

    listAccounts({ after = '', limit }) {
      const sql = `${select} WHERE username_key > $1 ORDER BY username_key LIMIT $2`
      return database.rows<AccountRow>('accounts were not listed', sql, after, limit)
    },

    async setDisabled(id, disabledAtMs) {
      const sql = 'UPDATE accounts SET disabled_at_ms = $1 WHERE id = $2'
      return (await database.change('an account was not changed', sql, disabledAtMs, id)) > 0
    },

    async setTeam(id, team) {
      const sql = 'UPDATE accounts SET team = $1 WHERE id = $2'
      return (await database.change('an account was not changed', sql, team, id)) > 0
    },

    async replaceHash(id, oldHash, newHash) {
      const what = 'a password hash was not replaced'
      return (await database.change(what, setHash, id, newHash, oldHash)) > 0
    },

    changePassword: ({ id, oldHash, newHash, keepSessionId, endTokens, nowMs }) =>
      database.transact('a password was not changed', async queries => {
        if ((await queries.change(setHash, id, newHash, oldHash)) === 0) return null
        const ended = await queries.rows<{ living: boolean }>(endSessions, nowMs, id, keepSessionId)
        await queries.change('DELETE FROM reset_codes WHERE account_id = $1', id)
        await queries.change(dropFailures, id)
        return {
          sessions: ended.filter(({ living }) => living).length,
          tokens: endTokens ? await revokeServiceTokens(queries, id, nowMs) : [],
        }
      }),

    deleteAccount: (id, nameReservedUntilMs) =>
      database.transact('an account was not deleted', async queries => {
        await queries.change(dropFailures, id)
        // What belongs to it goes with it (ON DELETE CASCADE).
        const sql = 'DELETE FROM accounts WHERE id = $1 RETURNING username_key AS key'
        const row = await queries.row<{ key: string }>(sql, id)
        if (row === null) return false
        await queries.change(reserve, row.key, nameReservedUntilMs)
        return true
      }),
  } satisfies Partial<AccountStore>
}
