import {
  type AccountStore,
  type AuditRow,
  maxAuditRowsOfAccount,
  maxAuditRowsOfStrangers,
} from '../account-store.ts'
import { type Database, integer, json, type Row, text, textOrNull } from './database.ts'

type AuditMethods = Pick<AccountStore, 'audit' | 'listAudit'>

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
  const insert = database.prepare(`INSERT INTO audit
    (at_ms, action, account_id, address, details, keep_until_ms) VALUES (?, ?, ?, ?, ?, ?)`)
  // A range of the index: `id IN (…)` would read the whole table.
  const trimOne = database.prepare(`DELETE FROM audit WHERE account_id IS ?1 AND action = ?2
    AND id <= (SELECT id FROM audit WHERE account_id IS ?1 AND action = ?2
      ORDER BY id DESC LIMIT 1 OFFSET ?3)`)
  const counts = database.prepare(
    'SELECT account_id, count(*) AS count FROM audit GROUP BY account_id ORDER BY count DESC',
  )
  const trimAccount = database.prepare(`DELETE FROM audit WHERE id IN
    (SELECT id FROM audit WHERE account_id IS ?1 ORDER BY keep_until_ms, id LIMIT ?2)`)
  const newest = database.prepare('SELECT * FROM audit ORDER BY id DESC LIMIT ?')
  const ofAccount = database.prepare(
    'SELECT * FROM audit WHERE account_id = ? ORDER BY id DESC LIMIT ?',
  )

  function trimAll(maxRows: number): void {
    const rows = counts.all().map(row => ({
      accountId: textOrNull(row, 'account_id'),
      count: integer(row, 'count'),
    }))
    const kept = fairShares(
      rows.map(({ count }) => count),
      maxRows,
    )
    for (const [at, { accountId, count }] of rows.entries()) {
      const excess = count - (kept[at] ?? 0)
      if (excess > 0) trimAccount.run(accountId, excess)
    }
  }

  return {
    audit: ({ atMs, action, accountId, address, details }, { untilMs, maxRows }) =>
      database.write('an audit entry was not written', () => {
        const values = [atMs, action, accountId, address, JSON.stringify(details), untilMs] as const
        const { lastInsertRowid } = insert.run(...values)
        const most = accountId === null ? maxAuditRowsOfStrangers : maxAuditRowsOfAccount
        trimOne.run(accountId, action, most)
        // Counting reads a whole index: once for each hundredth part of the rows.
        const every = Math.max(1, Math.floor(maxRows / 100))
        if (Number(lastInsertRowid) % every !== 0) return
        trimAll(maxRows)
      }),

    listAudit: ({ accountId, limit }) =>
      database.read('the audit was not listed', () => {
        const rows = accountId === undefined ? newest.all(limit) : ofAccount.all(accountId, limit)
        return rows.map(toEntry)
      }),
  }
}

/**
 * Shares out `total` among counts in descending order, the smallest first: each gets all it has or
 * as much as every larger one.
 */
function fairShares(counts: readonly number[], total: number): number[] {
  const shares: number[] = []
  let left = total
  for (let at = counts.length - 1; at >= 0; at--) {
    const share = Math.min(counts[at] ?? 0, Math.floor(left / (at + 1)))
    shares[at] = share
    left -= share
  }
  return shares
}
