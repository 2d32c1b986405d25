import type { AccountStore, LoginFailures } from '../account-store.ts'
import type { Database } from './database.ts'
import { type Row, integer, text } from './row.ts'

type FailureMethods = Pick<
  AccountStore,
  'findFailures' | 'listFailures' | 'addFailure' | 'clearFailures'
>

/** About 15 MB. Filling it takes an attacker 40 minutes of hashing on one core. */
const maxFailureRows = 100_000
/** Trimming reads the whole index, so it is not done at each failure. */
const trimEvery = 1000

function toFailures(row: Row): LoginFailures {
  return {
    source: text(row, 'source'),
    forgottenAtMs: integer(row, 'forgotten_at_ms'),
    lastMs: integer(row, 'last_ms'),
  }
}

export function failuresTable(database: Database): FailureMethods {
  const find = database.prepare('SELECT * FROM login_failures WHERE name = ? AND source = ?')
  const list = database.prepare('SELECT * FROM login_failures WHERE name = ? ORDER BY source')
  // A row from the future was written before the clock was set back: it counts as none. Not one
  // of the last moments, which another process may have written while this one waited.
  const add = database.prepare(`
    INSERT INTO login_failures (name, source, forgotten_at_ms, last_ms)
    VALUES (?1, ?2, ?3 + ?4, ?3)
    ON CONFLICT DO UPDATE SET
      forgotten_at_ms = iif(last_ms > ?3 + ?4, ?3, max(forgotten_at_ms, ?3)) + ?4,
      last_ms = ?3`)
  const clear = database.prepare(
    'DELETE FROM login_failures WHERE name = ?1 AND (?2 IS NULL OR source = ?2)',
  )
  const trim = database.prepare(`DELETE FROM login_failures WHERE (name, source) IN
    (SELECT name, source FROM login_failures ORDER BY forgotten_at_ms DESC LIMIT -1 OFFSET ?)`)
  let added = 0

  return {
    findFailures: (name, source) =>
      database.read('failed logins were not found', () => {
        const row = find.get(name, source)
        return row === undefined ? null : toFailures(row)
      }),

    listFailures: name =>
      database.read('failed logins were not listed', () => list.all(name).map(toFailures)),

    addFailure: (name, sources, nowMs, forgetMs) =>
      database.write('a failed login was not recorded', () => {
        for (const source of sources) add.run(name, source, nowMs, forgetMs)
        if (++added % trimEvery === 0) trim.run(maxFailureRows)
      }),

    clearFailures: (name, source) =>
      database.write('failed logins were not cleared', () => {
        clear.run(name, source ?? null)
      }),
  }
}
