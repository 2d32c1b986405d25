import type { Database } from '../../artefacts/database/pool.ts'
import type { AccountStore, LoginFailures } from '../account-store.ts'
import { maxFailureRows, trimFailuresEvery } from '../store-rules.ts'

const select = `SELECT source, forgotten_at_ms AS "forgottenAtMs", last_ms AS "lastMs"
  FROM login_failures WHERE name = $1`
// A row from the future was written before the clock was set back: it counts as none. Not one of
// the last moments, which another process may have written while this one waited. In the order of
// the sources, so that two of these cannot wait for each other.
const add = `INSERT INTO login_failures AS old (name, source, forgotten_at_ms, last_ms)
  SELECT $1, source, $3::bigint + $4::bigint, $3 FROM unnest($2::text[]) AS source ORDER BY source
  ON CONFLICT (name, source) DO UPDATE SET
    forgotten_at_ms = CASE WHEN old.last_ms > $3::bigint + $4::bigint THEN $3
      ELSE greatest(old.forgotten_at_ms, $3) END + $4,
    last_ms = $3`
const clear = `DELETE FROM login_failures WHERE name = $1 AND ($2::text IS NULL OR source = $2)`
const trim = `DELETE FROM login_failures WHERE forgotten_at_ms <=
  (SELECT forgotten_at_ms FROM login_failures ORDER BY forgotten_at_ms DESC OFFSET $1 LIMIT 1)`

export function failuresTable(database: Database) {
  let added = 0
  return {
    findFailures(name, source) {
      const sql = `${select} AND source = $2`
      return database.row<LoginFailures>('failed logins were not found', sql, name, source)
    },

    listFailures(name) {
      const sql = `${select} ORDER BY source`
      return database.rows<LoginFailures>('failed logins were not listed', sql, name)
    },

    addFailure: (name, sources, nowMs, forgetMs) =>
      database.run('a failed login was not recorded', async queries => {
        await queries.change(add, name, sources, nowMs, forgetMs)
        if (++added % trimFailuresEvery === 0) await queries.change(trim, maxFailureRows)
      }),

    async clearFailures(name, source) {
      await database.change('failed logins were not cleared', clear, name, source ?? null)
    },
  } satisfies Partial<AccountStore>
}
