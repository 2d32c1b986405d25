import type { AccountRow } from '../account-store.ts'
import type { SQLOutputValue } from 'node:sqlite'
import { ServiceError } from '../../../lib/util/errors.ts'

/** A row as SQLite gives it. */
export type Row = Readonly<Record<string, SQLOutputValue>>

/** STRICT tables keep the types of columns: anything else was not written by this program. */
export function text(row: Row, column: string): string {
  const value = row[column]
  return typeof value === 'string' ? value : refuse(column)
}

export function integer(row: Row, column: string): number {
  const value = row[column]
  return typeof value === 'number' ? value : refuse(column)
}

export function textOrNull(row: Row, column: string): string | null {
  return row[column] === null ? null : text(row, column)
}

export function integerOrNull(row: Row, column: string): number | null {
  return row[column] === null ? null : integer(row, column)
}

/** A list of texts or an object of plain values, kept as JSON. */
export function json(row: Row, column: string): unknown {
  try {
    return JSON.parse(text(row, column))
  } catch {
    return refuse(column)
  }
}

function refuse(column: string): never {
  const hint = 'stop the registry and restore a backup'
  throw new ServiceError('storage_failed', `the database holds a ${column} of no meaning`, { hint })
}

/** For a query that joins: the account's columns under names of their own. */
export const accountColumns = `
  accounts.id AS account_id, username, username_key, email, email_key, password_hash,
  accounts.created_at_ms AS account_created_at_ms, disabled_at_ms`

export function toAccount(row: Row): AccountRow {
  return {
    id: text(row, 'account_id'),
    username: text(row, 'username'),
    usernameKey: text(row, 'username_key'),
    email: text(row, 'email'),
    emailKey: text(row, 'email_key'),
    passwordHash: text(row, 'password_hash'),
    createdAtMs: integer(row, 'account_created_at_ms'),
    disabledAtMs: integerOrNull(row, 'disabled_at_ms'),
  }
}
