import type { DatabaseSync, SQLInputValue, StatementResultingChanges } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { errnoOf, isDiskFull, messageOf, ServiceError } from '../../../lib/util/errors.ts'

interface Statement<Row> {
  get(...values: SQLInputValue[]): Row | undefined
  all(...values: SQLInputValue[]): Row[]
  run(...values: SQLInputValue[]): StatementResultingChanges
}

/** One connection, on which what belongs together is done at once or not at all. */
export interface Database {
  /** A query names its columns as the members of `Row`; STRICT tables keep their types. */
  prepare<Row = unknown>(sql: string): Statement<Row>
  /** Runs what only reads; `what` is what to say when it fails. */
  read<Value>(what: string, query: () => Value): Promise<Value>
  /**
   * Runs `change` in a transaction that is on the disk before this resolves. `change` may be run
   * several times, each time on the state before it; it cannot wait for anything.
   */
  write<Value>(what: string, change: () => Value): Promise<Value>
  close(): void
}

const maxDelayMs = 20

/**
 * SQLite's own waiting would stop the event loop, so it is told not to wait (`timeout: 0`) and
 * what found the file locked is tried again from here, for `busyMs` at most.
 */
export function createDatabase(
  db: DatabaseSync,
  { file, busyMs }: { file: string; busyMs: number },
): Database {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')

  function transact<Value>(change: () => Value): Value {
    begin.run()
    try {
      const value = change()
      commit.run()
      return value
    } catch (error) {
      // A full disk has rolled it back already.
      if (db.isTransaction) rollback.run()
      throw error
    }
  }

  const attempt = <Value>(what: string, action: () => Value): Promise<Value> =>
    orStoreError(file, what, () => untilFree(busyMs, action))

  return {
    prepare: <Row>(sql: string) => db.prepare(sql) as unknown as Statement<Row>,
    read: attempt,
    write: (what, change) => attempt(what, () => transact(change)),
    close: () => db.close(),
  }
}

/** Tries again, without stopping the event loop, while another connection is in the way. */
export async function untilFree<Value>(busyMs: number, action: () => Value): Promise<Value> {
  const startedMs = performance.now()
  for (let pause = 1; ; pause = Math.min(pause * 2, maxDelayMs)) {
    try {
      return action()
    } catch (error) {
      if (!isBusy(error) || performance.now() - startedMs > busyMs) throw error
    }
    // Of several that wait in step, one would win every time.
    await delay(pause * (0.5 + Math.random()))
  }
}

/** Primary result codes of SQLite (sqlite3.h); the extended ones have them in their low byte. */
const codes = { busy: 5, locked: 6, readonly: 8, corrupt: 11, full: 13, notADatabase: 26 } as const

const uniqueCodes: readonly number[] = [2067, 1555]

const hints: Readonly<Record<number, string>> = {
  [codes.readonly]: 'give this user the right to write to the file and its folder',
  [codes.corrupt]: 'stop the accounts server and restore a backup',
  [codes.notADatabase]: 'stop the accounts server and restore a backup',
}

const messages: Readonly<Record<number, string>> = {
  [codes.busy]: 'another process kept it locked',
  [codes.readonly]: 'it cannot be written',
  [codes.corrupt]: 'it is damaged',
  [codes.notADatabase]: 'it is damaged, or no database',
}

/** SQLite's result code, or null for any other error. */
function sqliteCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null
  return typeof error.errcode === 'number' ? error.errcode : null
}

/** Another connection holds a lock; the same can be tried again. */
function isBusy(error: unknown): boolean {
  const primary = (sqliteCode(error) ?? 0) & 0xff
  return primary === codes.busy || primary === codes.locked
}

/** A value that must be there once is there already. */
export function isTaken(error: unknown): boolean {
  return uniqueCodes.includes(sqliteCode(error) ?? 0)
}

/** Runs `action`; `what` says what did not happen when it fails. */
export async function orStoreError<Value>(
  file: string,
  what: string,
  action: () => Promise<Value>,
): Promise<Value> {
  try {
    return await action()
  } catch (error) {
    throw toStoreError(error, file, what)
  }
}

/** What the caller of a store gets for `error`; mistakes of our own stay what they are. */
export function toStoreError(error: unknown, file: string, what: string): unknown {
  if (error instanceof ServiceError) return error
  const code = sqliteCode(error)
  const errno = errnoOf(error)
  const primary = (code ?? 0) & 0xff
  if (primary === codes.full || isDiskFull(error)) {
    const hint = `free space on the disk of ${file}`
    return new ServiceError('storage_full', `${file}: ${what}: the disk is full`, {
      cause: error,
      hint,
    })
  }
  if (code === null && errno === null && !isClosed(error)) return error
  const told = messageOf(error)
  const reason = errno ?? messages[primary] ?? told
  const hint = hints[primary] ?? `check that ${file} and its disk are healthy`
  return new ServiceError('storage_failed', `${file}: ${what}: ${reason}`, { cause: error, hint })
}

/** `node:sqlite` says so of a call on a closed database. */
function isClosed(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_INVALID_STATE'
}
