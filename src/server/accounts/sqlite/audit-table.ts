import type { AccountStore, AuditRow } from '../account-store.ts'
import { auditExcess, isTrimDue, maxAuditRowsOf } from '../store-rules.ts'
import type { Database } from './database.ts'

type Row = Omit<AuditRow, 'details'> & { readonly details: string }

export function auditTable(database: Database) {
  const insert = database.prepare(`INSERT INTO audit
    (at_ms, action, account_id, address, details, keep_until_ms) VALUES (?, ?, ?, ?, ?, ?)`)
  // A range of the index: `id IN (…)` would read the whole table.
  const trimOne = database.prepare(`DELETE FROM audit WHERE account_id IS ?1 AND action = ?2
    AND id <= (SELECT id FROM audit WHERE account_id IS ?1 AND action = ?2
      ORDER BY id DESC LIMIT 1 OFFSET ?3)`)
  const counts = database.prepare<{ accountId: string | null; count: number }>(
    'SELECT account_id AS accountId, count(*) AS count FROM audit GROUP BY account_id ORDER BY count DESC',
  )
  const trimAccount = database.prepare(`DELETE FROM audit WHERE id IN
    (SELECT id FROM audit WHERE account_id IS ?1 ORDER BY keep_until_ms, id LIMIT ?2)`)
  const select = `SELECT at_ms AS atMs, action, account_id AS accountId, address, details FROM audit`
  const newest = database.prepare<Row>(`${select} ORDER BY id DESC LIMIT ?`)
  const ofAccount = database.prepare<Row>(`${select} WHERE account_id = ? ORDER BY id DESC LIMIT ?`)

  function trimAll(maxRows: number): void {
    for (const { accountId, count } of auditExcess(counts.all(), maxRows)) {
      trimAccount.run(accountId, count)
    }
  }

  return {
    audit: ({ atMs, action, accountId, address, details }, { untilMs, maxRows }) =>
      database.write('an audit entry was not written', () => {
        const values = [atMs, action, accountId, address, JSON.stringify(details), untilMs] as const
        const { lastInsertRowid } = insert.run(...values)
        trimOne.run(accountId, action, maxAuditRowsOf(accountId))
        if (isTrimDue(Number(lastInsertRowid), maxRows)) trimAll(maxRows)
      }),

    listAudit: ({ accountId, limit }) =>
      database.read('the audit was not listed', () => {
        const rows = accountId === undefined ? newest.all(limit) : ofAccount.all(accountId, limit)
        return rows.map(row => ({ ...row, details: JSON.parse(row.details) }))
      }),
  } satisfies Partial<AccountStore>
}
