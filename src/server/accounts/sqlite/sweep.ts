import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AccountStore } from '../account-store.ts'
import type { Database } from './database.ts'

/** So many at a time: between them requests are answered. */
const batch = 500

/** One statement for each kind of row that is over. */
const sweeps: readonly string[] = [
  `DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE expires_at_ms < ?1
     UNION SELECT id FROM sessions WHERE revoked_at_ms < ?1 LIMIT ${batch})`,
  `DELETE FROM service_tokens WHERE id IN (SELECT id FROM service_tokens
     WHERE expires_at_ms < ?1 OR revoked_at_ms < ?1 LIMIT ${batch})`,
  `DELETE FROM invites WHERE hash IN
     (SELECT hash FROM invites WHERE expires_at_ms < ?1 LIMIT ${batch})`,
  `DELETE FROM reset_codes WHERE account_id IN
     (SELECT account_id FROM reset_codes WHERE expires_at_ms < ?1 LIMIT ${batch})`,
  `DELETE FROM reserved_names WHERE username_key IN
     (SELECT username_key FROM reserved_names WHERE until_ms < ?1 LIMIT ${batch})`,
  `DELETE FROM audit WHERE id IN
     (SELECT id FROM audit WHERE keep_until_ms < ?1 LIMIT ${batch})`,
  `DELETE FROM login_failures WHERE (name, source) IN
     (SELECT name, source FROM login_failures WHERE forgotten_at_ms < ?1 LIMIT ${batch})`,
]

export function sweeper(database: Database): Pick<AccountStore, 'sweep'> {
  const statements = sweeps.map(sql => database.prepare(sql))
  return {
    async sweep(beforeMs) {
      let swept = 0
      for (const statement of statements) {
        // Ends: each round but the last takes a whole batch away.
        for (let gone = batch; gone === batch; swept += gone) {
          gone = await database.write('what is over was not removed', () =>
            Number(statement.run(beforeMs).changes),
          )
          await nextTurn()
        }
      }
      return swept
    },
  }
}
