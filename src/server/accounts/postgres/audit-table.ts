import type { Database, Queries } from '../../artefacts/database/pool.ts'
import type { AccountStore, AuditRow } from '../account-store.ts'
import { auditExcess, isTrimDue, maxAuditRowsOf } from '../store-rules.ts'

const insert = `INSERT INTO accounts_audit
  (at_ms, action, account_id, address, details, keep_until_ms) VALUES ($1, $2, $3, $4, $5, $6)
  RETURNING id`
// A range of the index: `id IN (…)` would read the whole table.
const trimOne = `DELETE FROM accounts_audit WHERE account_id = $1 AND action = $2
  AND id <= (SELECT id FROM accounts_audit WHERE account_id = $1 AND action = $2
    ORDER BY id DESC LIMIT 1 OFFSET $3)`
const counts = `SELECT account_id AS "accountId", count(*) AS count
  FROM accounts_audit GROUP BY account_id ORDER BY count DESC`
const trimAccount = `DELETE FROM accounts_audit WHERE id IN
  (SELECT id FROM accounts_audit WHERE account_id = $1 ORDER BY keep_until_ms, id LIMIT $2)`
// Only one server trims at a time; the others skip it.
const lock = `SELECT pg_try_advisory_xact_lock(hashtext('accounts_audit')) AS mine`
const select = `SELECT at_ms AS "atMs", action, nullif(account_id, '') AS "accountId", address,
  details FROM accounts_audit`
const newest = `${select} ORDER BY id DESC LIMIT $1`
const newestOfAccount = `${select} WHERE account_id = $1 ORDER BY id DESC LIMIT $2`

type Row = Omit<AuditRow, 'details'> & { readonly details: string }

export function auditTable(database: Database) {
  return {
    audit: ({ atMs, action, accountId, address, details }, { untilMs, maxRows }) =>
      database.transact('an audit entry was not written', async queries => {
        const account = accountId ?? ''
        const values = [atMs, action, account, address, JSON.stringify(details), untilMs] as const
        const { id } = await queries.one<{ id: number }>(insert, ...values)
        await queries.change(trimOne, account, action, maxAuditRowsOf(accountId))
        if (isTrimDue(id, maxRows)) await trimAll(queries, maxRows)
      }),

    async listAudit({ accountId, limit }) {
      const what = 'the audit was not listed'
      const rows =
        accountId === undefined
          ? await database.rows<Row>(what, newest, limit)
          : await database.rows<Row>(what, newestOfAccount, accountId, limit)
      return rows.map(row => ({ ...row, details: JSON.parse(row.details) }))
    },
  } satisfies Partial<AccountStore>
}

async function trimAll(queries: Queries, maxRows: number): Promise<void> {
  if (!(await queries.one<{ mine: boolean }>(lock)).mine) return
  const rows = await queries.rows<{ accountId: string; count: number }>(counts)
  for (const { accountId, count } of auditExcess(rows, maxRows)) {
    await queries.change(trimAccount, accountId, count)
  }
}
