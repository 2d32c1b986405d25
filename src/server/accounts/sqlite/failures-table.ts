import type { AccountStore, LoginFailures } from '../account-store.ts'
import type { Database } from './database.ts'
import { type Row, integer } from './row.ts'

export type FailureMethods = Pick<AccountStore, 'findFailures' | 'addFailure' | 'clearFailures'>

function toFailures(row: Row): LoginFailures {
  return {
    count: integer(row, 'count'),
    windowStartedMs: integer(row, 'window_started_ms'),
    consecutive: integer(row, 'consecutive'),
    lastMs: integer(row, 'last_ms'),
  }
}

export function failuresTable(database: Database): FailureMethods {
  const find = database.prepare('SELECT * FROM login_failures WHERE key = ?')
  // A window that begins later than now is one of a clock that was set back: it is over too.
  const add = database.prepare(`
    INSERT INTO login_failures (key, count, window_started_ms, consecutive, last_ms)
    VALUES (?1, 1, ?2, 1, ?2)
    ON CONFLICT DO UPDATE SET
      count = iif(?2 - window_started_ms BETWEEN 0 AND ?3 - 1, count + 1, 1),
      window_started_ms =
        iif(?2 - window_started_ms BETWEEN 0 AND ?3 - 1, window_started_ms, ?2),
      consecutive = consecutive + 1,
      last_ms = ?2
    RETURNING *`)
  const clear = database.prepare('DELETE FROM login_failures WHERE key = ?')

  return {
    findFailures: key =>
      database.read('failed logins were not found', () => {
        const row = find.get(key)
        return row === undefined ? null : toFailures(row)
      }),

    addFailure: (key, nowMs, windowMs) =>
      database.write('a failed login was not noted', () =>
        toFailures(add.get(key, nowMs, windowMs) ?? {}),
      ),

    async clearFailures(key) {
      const what = 'failed logins were not cleared'
      // After most logins there is nothing to clear, and no other writer to wait for.
      const found = await database.read(what, () => find.get(key))
      if (found !== undefined) await database.write(what, () => clear.run(key))
    },
  }
}
