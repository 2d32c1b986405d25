import type { AccountRow, AccountStore, NewSession, SessionRow } from '../account-store.ts'
import { accountColumns } from './columns.ts'
import type { Database } from './database.ts'

const select = `SELECT id, account_id AS accountId, created_at_ms AS createdAtMs,
  expires_at_ms AS expiresAtMs, address, counter,
  rotated_at_ms AS rotatedAtMs, revoked_at_ms AS revokedAtMs, revoked_reason AS revokedReason
  FROM sessions`

/** For a transaction of the caller: as it is, whatever the state of the account. */
export function insertSession(database: Database): (session: NewSession) => void {
  const insert = database.prepare(`INSERT INTO sessions (id, account_id, created_at_ms,
    expires_at_ms, address) VALUES (?, ?, ?, ?, ?)`)
  return ({ id, accountId, createdAtMs, expiresAtMs, address }) => {
    insert.run(id, accountId, createdAtMs, expiresAtMs, address)
  }
}

export function sessionsTable(database: Database) {
  const insert = insertSession(database)
  const mayBegin = database.prepare(`SELECT 1 FROM accounts
    WHERE id = ?1 AND disabled_at_ms IS NULL AND (?2 IS NULL OR password_hash = ?2)`)
  const find = database.prepare<SessionRow>(`${select} WHERE id = ?`)
  const account = database.prepare<AccountRow>(
    `SELECT ${accountColumns} FROM accounts WHERE id = ?`,
  )
  const rotate = database.prepare(`UPDATE sessions SET counter = counter + 1, rotated_at_ms = ?1
    WHERE id = ?2 AND counter = ?3 AND revoked_at_ms IS NULL AND expires_at_ms > ?1`)
  const list = database.prepare<SessionRow>(`${select}
    WHERE account_id = ? AND revoked_at_ms IS NULL AND expires_at_ms > ?
    ORDER BY created_at_ms DESC, id DESC`)
  const addresses = database.prepare<{ address: string }>(`SELECT DISTINCT address FROM sessions
    WHERE account_id = ? AND address IS NOT NULL`)
  const revoke = database.prepare(`UPDATE sessions SET revoked_at_ms = ?1, revoked_reason = ?2
    WHERE account_id = ?3 AND id = ?4 AND revoked_at_ms IS NULL AND expires_at_ms > ?1`)
  const revokeAll = database.prepare(`UPDATE sessions SET revoked_at_ms = ?1, revoked_reason = ?2
    WHERE account_id = ?3 AND revoked_at_ms IS NULL AND expires_at_ms > ?1`)

  return {
    createSession: (session, { passwordHash } = {}) =>
      database.write('a session was not created', () => {
        if (mayBegin.get(session.accountId, passwordHash ?? null) === undefined) return false
        insert(session)
        return true
      }),

    findSession: id =>
      database.read('a session was not found', () => {
        const session = find.get(id)
        const owner = session && account.get(session.accountId)
        return session && owner ? { session, account: owner } : null
      }),

    rotateSession: (id, counter, nowMs) =>
      database.write(
        'a session was not refreshed',
        () => rotate.run(nowMs, id, counter).changes > 0,
      ),

    listSessions: (accountId, nowMs) =>
      database.read('sessions were not listed', () => list.all(accountId, nowMs)),

    listSessionAddresses: accountId =>
      database.read('session addresses were not listed', () =>
        addresses.all(accountId).map(row => row.address),
      ),

    revokeSession: (accountId, id, reason, nowMs) =>
      database.write(
        'a session was not ended',
        () => revoke.run(nowMs, reason, accountId, id).changes > 0,
      ),

    revokeSessions: (accountId, reason, nowMs) =>
      database.write('sessions were not ended', () =>
        Number(revokeAll.run(nowMs, reason, accountId).changes),
      ),
  } satisfies Partial<AccountStore>
}
