import type { AccountStore, AuditRow } from '../account-store.ts'
import type { Database } from './database.ts'
import { type Row, integer, json, text, textOrNull } from './row.ts'

export type AuditMethods = Pick<AccountStore, 'audit' | 'listAudit'>

function toEntry(row: Row): AuditRow {
  return {
    atMs: integer(row, 'at_ms'),
    action: text(row, 'action'),
    accountId: textOrNull(row, 'account_id'),
    address: textOrNull(row, 'address'),
    details: json(row, 'details') as AuditRow['details'],
  }
}

export function auditTable(database: Database): AuditMethods {
  const insert = database.prepare(`INSERT INTO audit (at_ms, action, account_id, address, details)
    VALUES (?, ?, ?, ?, ?)`)
  // Ids have no gaps: only the oldest ever go, and what is rolled back gives its id back.
  const trim = database.prepare('DELETE FROM audit WHERE id <= ?')
  const newest = database.prepare('SELECT * FROM audit ORDER BY id DESC LIMIT ?')
  const ofAccount = database.prepare(
    'SELECT * FROM audit WHERE account_id = ? ORDER BY id DESC LIMIT ?',
  )

  return {
    audit: ({ atMs, action, accountId, address, details }, maxRows) =>
      database.write('an audit entry was not written', () => {
        const text = JSON.stringify(details)
        const { lastInsertRowid } = insert.run(atMs, action, accountId, address, text)
        trim.run(Number(lastInsertRowid) - maxRows)
      }),

    listAudit: ({ accountId, limit }) =>
      database.read('the audit was not listed', () => {
        const rows = accountId === undefined ? newest.all(limit) : ofAccount.all(accountId, limit)
        return rows.map(toEntry)
      }),
  }
}
