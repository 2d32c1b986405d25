import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { isBusy, toStoreError } from './sqlite-errors.ts'

/** One connection, on which what belongs together is done at once or not at all. */
export interface Database {
  prepare(sql: string): StatementSync
  /** Runs what only reads; `what` is what to say when it fails. */
  read<Value>(what: string, query: () => Value): Promise<Value>
  /**
   * Runs `change` in a transaction that is on the disk before this resolves. `change` may be run
   * several times, each time on the state before it; it cannot wait for anything. Rejects, and
   * changes nothing, when `watch` throws.
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
  { file, busyMs, watch }: { file: string; busyMs: number; watch: () => void },
): Database {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')

  function transact<Value>(change: () => Value): Value {
    begin.run()
    try {
      const value = change()
      // As late as it can be undone.
      watch()
      commit.run()
      return value
    } catch (error) {
      // A full disk has rolled it back already.
      if (db.isTransaction) rollback.run()
      throw error
    }
  }

  async function attempt<Value>(what: string, action: () => Value): Promise<Value> {
    try {
      return await untilFree(busyMs, action)
    } catch (error) {
      throw toStoreError(error, file, what)
    }
  }

  return {
    prepare: sql => db.prepare(sql),
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
