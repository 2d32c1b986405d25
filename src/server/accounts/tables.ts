import { createHash } from 'node:crypto'
import { ServiceError } from '../../lib/util/errors.ts'

/** A table of an accounts server. Both stores have the same columns. */
export interface AccountTable {
  readonly name: string
  /** The columns that order the rows. */
  readonly key: readonly string[]
  readonly columns: readonly string[]
}

/** What rows point at comes first. */
export const accountTables: readonly AccountTable[] = [
  table('accounts', 'id', [
    'username',
    'username_key',
    'email',
    'email_key',
    'password_hash',
    'created_at_ms',
    'disabled_at_ms',
    'team',
  ]),
  table('reserved_names', 'username_key', ['until_ms']),
  table('sessions', 'id', [
    'account_id',
    'created_at_ms',
    'expires_at_ms',
    'address',
    'user_agent',
    'counter',
    'rotated_at_ms',
    'revoked_at_ms',
    'revoked_reason',
  ]),
  table('service_tokens', 'id', [
    'account_id',
    'name',
    'secret_hash',
    'scopes',
    'created_at_ms',
    'expires_at_ms',
    'last_used_at_ms',
    'revoked_at_ms',
  ]),
  table('invites', 'hash', ['created_at_ms', 'expires_at_ms']),
  table('reset_codes', 'account_id', ['hash', 'expires_at_ms']),
  table('login_failures', 'name source', ['forgotten_at_ms', 'last_ms']),
  table('audit', 'id', ['at_ms', 'action', 'account_id', 'address', 'details', 'keep_until_ms']),
]

function table(name: string, key: string, others: string[]): AccountTable {
  const keys = key.split(' ')
  return { name, key: keys, columns: [...keys, ...others] }
}

export type TableRow = Readonly<Record<string, string | number | null>>

/** The rows of one moment. */
export interface TableReader {
  /** For messages. */
  readonly name: string
  readonly registryId: string
  /** By key, texts compared byte by byte; some at a time. */
  rows(table: AccountTable): AsyncIterable<readonly TableRow[]>
}

/** Empty tables, which others see only when all is written. */
export interface TableWriter extends Omit<TableReader, 'registryId'> {
  insert(table: AccountTable, rows: readonly TableRow[]): Promise<void>
}

/** So many rows are read at once. */
export const rowsAtOnce = 500

/** What was copied of one table. */
export interface CopiedTable {
  readonly rows: number
  /** The hash of the rows as JSON lines, in the order of their keys. */
  readonly sha256: string
}

/** Copies every row, and reads it again: throws `storage_failed` when that is not what was read. */
export async function copyTables(
  from: TableReader,
  to: TableWriter,
): Promise<Readonly<Record<string, CopiedTable>>> {
  const copied: Record<string, CopiedTable> = {}
  for (const each of accountTables) {
    const read = await factsOf(each, from, rows => to.insert(each, rows))
    const written = await factsOf(each, to)
    if (read.rows !== written.rows || read.sha256 !== written.sha256) {
      const message = `${to.name} does not hold the ${each.name} that were written to it`
      throw new ServiceError('storage_failed', message, { hint: 'nothing was moved: try again' })
    }
    copied[each.name] = read
  }
  return copied
}

async function factsOf(
  each: AccountTable,
  reader: Pick<TableReader, 'rows'>,
  seen?: (rows: readonly TableRow[]) => Promise<void>,
): Promise<CopiedTable> {
  const hash = createHash('sha256')
  let count = 0
  for await (const rows of reader.rows(each)) {
    for (const row of rows) hash.update(`${JSON.stringify(each.columns.map(name => row[name]))}\n`)
    count += rows.length
    await seen?.(rows)
  }
  return { rows: count, sha256: hash.digest('hex') }
}
