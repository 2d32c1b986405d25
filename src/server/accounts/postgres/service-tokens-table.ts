import type { Database, Queries } from '../../database/pool.ts'
import type { AccountRow, AccountStore, ServiceTokenRow } from '../account-store.ts'
import {
  maxRevokedTokens,
  type StoredServiceToken,
  touchEveryMs,
  toServiceToken,
} from '../store-rules.ts'
import { accountColumns } from './columns.ts'

const select = `SELECT id, account_id AS "accountId", name, secret_hash AS "secretHash", scopes,
  created_at_ms AS "createdAtMs", expires_at_ms AS "expiresAtMs",
  last_used_at_ms AS "lastUsedAtMs", revoked_at_ms AS "revokedAtMs" FROM service_tokens`
const living = 'account_id = $1 AND revoked_at_ms IS NULL AND expires_at_ms > $2'
const newestFirst = `${select} WHERE ${living} ORDER BY created_at_ms DESC, id DESC`
const insert = `INSERT INTO service_tokens
  (id, account_id, name, secret_hash, scopes, created_at_ms, expires_at_ms)
  SELECT $1, id, $3, $4, $5, $6::bigint, $7::bigint
  FROM accounts WHERE id = $2 AND disabled_at_ms IS NULL FOR SHARE`
const touch = `UPDATE service_tokens SET last_used_at_ms = $2
  WHERE id = $1 AND (last_used_at_ms IS NULL OR last_used_at_ms <= $3)`
const revoke = `UPDATE service_tokens SET revoked_at_ms = $2 WHERE ${living}`
const forget = `DELETE FROM service_tokens WHERE id IN
  (SELECT id FROM service_tokens WHERE account_id = $1 AND revoked_at_ms IS NOT NULL
   ORDER BY revoked_at_ms DESC OFFSET ${maxRevokedTokens})`

/** For a transaction: ends the living service tokens of an account and returns them. */
export async function revokeServiceTokens(
  queries: Queries,
  accountId: string,
  nowMs: number,
): Promise<ServiceTokenRow[]> {
  const rows = await queries.rows<StoredServiceToken>(`${newestFirst} FOR UPDATE`, accountId, nowMs)
  await queries.change(revoke, accountId, nowMs)
  return rows.map(toServiceToken)
}

export function serviceTokensTable(database: Database) {
  return {
    createServiceToken: token =>
      database.run('a service token was not created', async queries => {
        const { id, accountId, name, secretHash, createdAtMs, expiresAtMs } = token
        const scopes = JSON.stringify(token.scopes)
        const values = [id, accountId, name, secretHash, scopes, createdAtMs, expiresAtMs] as const
        return (await queries.change(insert, ...values)) > 0
      }),

    findServiceToken: secretHash =>
      database.run('a service token was not found', async queries => {
        const row = await queries.row<StoredServiceToken>(
          `${select} WHERE secret_hash = $1`,
          secretHash,
        )
        if (row === null) return null
        // Read after the token, so that an account that was disabled before is seen as disabled.
        const account = await queries.row<AccountRow>(
          `SELECT ${accountColumns} FROM accounts WHERE id = $1`,
          row.accountId,
        )
        return account === null ? null : { token: toServiceToken(row), account }
      }),

    touchServiceToken: (id, nowMs) =>
      database.run('the use of a service token was not noted', async queries => {
        await queries.change(touch, id, nowMs, nowMs - touchEveryMs)
      }),

    listServiceTokens: (accountId, nowMs) =>
      database.run('service tokens were not listed', async queries =>
        (await queries.rows<StoredServiceToken>(newestFirst, accountId, nowMs)).map(toServiceToken),
      ),

    countServiceTokens: (accountId, nowMs) =>
      database.run('service tokens were not counted', async queries => {
        const sql = `SELECT count(*) FROM service_tokens WHERE ${living}`
        return (await queries.row<{ count: number }>(sql, accountId, nowMs))?.count ?? 0
      }),

    revokeServiceToken: (accountId, id, nowMs) =>
      database.transact('a service token was not ended', async queries => {
        const changed = await queries.change(`${revoke} AND id = $3`, accountId, nowMs, id)
        if (changed === 0) return false
        await queries.change(forget, accountId)
        return true
      }),
  } satisfies Partial<AccountStore>
}
