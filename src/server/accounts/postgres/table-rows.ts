import { ServiceError } from '../../../lib/util/errors.ts'
import type { Database, Queries } from '../../database/pool.ts'
import {
  type AccountTable,
  accountTables,
  rowsAtOnce,
  type TableReader,
  type TableRow,
  type TableWriter,
} from '../tables.ts'

/** The name in PostgreSQL, where other programs may have an audit too. */
const nameOf = ({ name }: AccountTable) => (name === 'audit' ? 'accounts_audit' : name)

/** This column holds '' for entries without an account. */
function isAuditAccount(table: AccountTable, column: string): boolean {
  return table.name === 'audit' && column === 'account_id'
}

/** Runs `action` on a consistent snapshot of the rows. */
export function readDatabaseTables<Value>(
  database: Database,
  registryId: string,
  action: (reader: TableReader) => Promise<Value>,
): Promise<Value> {
  return database.transact('the accounts were not read', async queries => {
    await queries.change('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')
    return action({ name: database.name, registryId, rows: table => rowsOf(queries, table) })
  })
}

/**
 * Replaces the rows of a server without accounts by those that `fill` writes, in one transaction.
 * Throws `file_exists` when there are accounts.
 */
export function writeDatabaseTables<Value>(
  database: Database,
  registryId: string,
  fill: (writer: TableWriter, queries: Queries) => Promise<Value>,
): Promise<Value> {
  return database.transact('the accounts were not written', async queries => {
    await queries.change('LOCK TABLE accounts IN EXCLUSIVE MODE')
    await checkEmpty(database, queries)
    await queries.change(`TRUNCATE ${accountTables.map(nameOf).join()}`)
    const writer: TableWriter = {
      name: database.name,
      rows: table => rowsOf(queries, table),
      async insert(table, rows) {
        await queries.change(insertInto(table), JSON.stringify(rows))
      },
    }
    const value = await fill(writer, queries)
    await queries.rows(`SELECT setval(pg_get_serial_sequence('accounts_audit', 'id'),
      (SELECT coalesce(max(id), 1) FROM accounts_audit))`)
    const rename = `UPDATE accounts_meta SET value = $1 WHERE name = 'registry_id'`
    await queries.change(rename, registryId)
    return value
  })
}

async function checkEmpty(database: Database, queries: Queries): Promise<void> {
  const found = await queries.row('SELECT 1 FROM accounts LIMIT 1')
  if (found === null) return
  throw new ServiceError('file_exists', `there are accounts in ${database.name} already`, {
    hint: 'name an empty database, or another schema',
  })
}

function insertInto(table: AccountTable): string {
  const [name, columns] = [nameOf(table), table.columns.join()]
  const values = table.columns.map(column =>
    isAuditAccount(table, column) ? `coalesce(${column}, '')` : column,
  )
  return `INSERT INTO ${name} (${columns}) OVERRIDING SYSTEM VALUE
    SELECT ${values.join()} FROM json_populate_recordset(NULL::${name}, $1)`
}

async function* rowsOf(queries: Queries, table: AccountTable) {
  const name = nameOf(table)
  const columns = table.columns.map(column =>
    isAuditAccount(table, column) ? `nullif(${column}, '') AS ${column}` : column,
  )
  const cursor = `rows_of_${name}`
  await queries.change(
    `DECLARE ${cursor} CURSOR FOR SELECT ${columns.join()} FROM ${name} ORDER BY ${table.key.join()}`,
  )
  for (;;) {
    const rows = await queries.rows<TableRow>(`FETCH ${rowsAtOnce} FROM ${cursor}`)
    if (rows.length === 0) break
    yield rows
  }
  await queries.change(`CLOSE ${cursor}`)
}
