import type { SQLOutputValue } from 'node:sqlite'
import { ServiceError } from '../../../lib/errors.ts'

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
