import type { AccountRow, AccountStore, ServiceTokenRow } from '../account-store.ts'
import {
  maxRevokedTokens,
  type StoredServiceToken,
  touchEveryMs,
  toServiceToken,
} from '../store-rules.ts'
import { accountColumns } from './columns.ts'
import type { Database } from './database.ts'

const select = `SELECT id, account_id AS accountId, name, secret_hash AS secretHash, scopes,
  created_at_ms AS createdAtMs, expires_at_ms AS expiresAtMs, last_used_at_ms AS lastUsedAtMs,
  revoked_at_ms AS revokedAtMs FROM service_tokens`

const living = 'account_id = ? AND revoked_at_ms IS NULL AND expires_at_ms > ?'
const newestFirst = `${select} WHERE ${living}
  ORDER BY created_at_ms DESC, id DESC`

/** For a transaction: ends the living service tokens of an account and returns them. */
export function serviceTokenRevoker(
  database: Database,
): (accountId: string, nowMs: number) => ServiceTokenRow[] {
  const list = database.prepare<StoredServiceToken>(newestFirst)
  const revoke = database.prepare('UPDATE service_tokens SET revoked_at_ms = ? WHERE id = ?')
  return (accountId, nowMs) => {
    const tokens = list.all(accountId, nowMs).map(toServiceToken)
    for (const { id } of tokens) revoke.run(nowMs, id)
    return tokens
  }
}

export function serviceTokensTable(database: Database) {
  const insert = database.prepare(`INSERT INTO service_tokens
    (id, account_id, name, secret_hash, scopes, created_at_ms, expires_at_ms)
    SELECT ?1, id, ?3, ?4, ?5, ?6, ?7 FROM accounts WHERE id = ?2 AND disabled_at_ms IS NULL`)
  const find = database.prepare<StoredServiceToken>(`${select} WHERE secret_hash = ?`)
  const account = database.prepare<AccountRow>(
    `SELECT ${accountColumns} FROM accounts WHERE id = ?`,
  )
  const isStale = database.prepare(`SELECT 1 FROM service_tokens
    WHERE id = ? AND (last_used_at_ms IS NULL OR last_used_at_ms <= ?)`)
  const touch = database.prepare('UPDATE service_tokens SET last_used_at_ms = ? WHERE id = ?')
  const list = database.prepare<StoredServiceToken>(newestFirst)
  const count = database.prepare<{ count: number }>(
    `SELECT count(*) AS count FROM service_tokens WHERE ${living}`,
  )
  const revoke = database.prepare(`UPDATE service_tokens SET revoked_at_ms = ?1
    WHERE account_id = ?2 AND id = ?3 AND revoked_at_ms IS NULL AND expires_at_ms > ?1`)

  const forget = database.prepare(`DELETE FROM service_tokens WHERE id IN
    (SELECT id FROM service_tokens WHERE account_id = ? AND revoked_at_ms IS NOT NULL
     ORDER BY revoked_at_ms DESC LIMIT -1 OFFSET ${maxRevokedTokens})`)

  return {
    createServiceToken: token =>
      database.write('a service token was not created', () => {
        const { id, accountId, name, secretHash, createdAtMs, expiresAtMs } = token
        const scopes = JSON.stringify(token.scopes)
        const values = [id, accountId, name, secretHash, scopes, createdAtMs, expiresAtMs] as const
        return insert.run(...values).changes > 0
      }),

    findServiceToken: secretHash =>
      database.read('a service token was not found', () => {
        const row = find.get(secretHash)
        const owner = row && account.get(row.accountId)
        return row && owner ? { token: toServiceToken(row), account: owner } : null
      }),

    async touchServiceToken(id, nowMs) {
      const what = 'the use of a service token was not noted'
      // Asked first without a transaction, which would wait for other writers.
      const stale = await database.read(what, () => isStale.get(id, nowMs - touchEveryMs))
      if (stale !== undefined) await database.write(what, () => touch.run(nowMs, id))
    },

    listServiceTokens: (accountId, nowMs) =>
      database.read('service tokens were not listed', () =>
        list.all(accountId, nowMs).map(toServiceToken),
      ),

    countServiceTokens: (accountId, nowMs) =>
      database.read(
        'service tokens were not counted',
        () => count.get(accountId, nowMs)?.count ?? 0,
      ),

    revokeServiceToken: (accountId, id, nowMs) =>
      database.write('a service token was not ended', () => {
        if (revoke.run(nowMs, accountId, id).changes === 0) return false
        forget.run(accountId)
        return true
      }),
  } satisfies Partial<AccountStore>
}
