import type { Database, Queries } from '../../artefacts/database/pool.ts'
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
const bySecret = `${select} WHERE secret_hash = $1`
const accountById = `SELECT ${accountColumns} FROM accounts WHERE id = $1`
const countLiving = `SELECT count(*) FROM service_tokens WHERE ${living}`
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
    async createServiceToken(token) {
      const { id, accountId, name, secretHash, createdAtMs, expiresAtMs } = token
      const scopes = JSON.stringify(token.scopes)
      const values = [id, accountId, name, secretHash, scopes, createdAtMs, expiresAtMs] as const
      return (await database.change('a service token was not created', insert, ...values)) > 0
    },

    findServiceToken: secretHash =>
      database.run('a service token was not found', async queries => {
        const row = await queries.row<StoredServiceToken>(bySecret, secretHash)
        if (row === null) return null
        // Read after the token, so that an account that was disabled before is seen as disabled.
        const account = await queries.row<AccountRow>(accountById, row.accountId)
        return account === null ? null : { token: toServiceToken(row), account }
      }),

    async touchServiceToken(id, nowMs) {
      const what = 'the use of a service token was not noted'
      await database.change(what, touch, id, nowMs, nowMs - touchEveryMs)
    },

    async listServiceTokens(accountId, nowMs) {
      const what = 'service tokens were not listed'
      const rows = await database.rows<StoredServiceToken>(what, newestFirst, accountId, nowMs)
      return rows.map(toServiceToken)
    },

    async countServiceTokens(accountId, nowMs) {
      const what = 'service tokens were not counted'
      return (await database.one<{ count: number }>(what, countLiving, accountId, nowMs)).count
    },

    revokeServiceToken: (accountId, id, nowMs) =>
      database.transact('a service token was not ended', async queries => {
        const changed = await queries.change(`${revoke} AND id = $3`, accountId, nowMs, id)
        if (changed === 0) return false
        await queries.change(forget, accountId)
        return true
      }),
  } satisfies Partial<AccountStore>
}
