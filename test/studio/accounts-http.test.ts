import { openPostgresStore } from '../../src/server/accounts/postgres/postgres-store.ts'
import { stores } from '../server/accounts/harness.ts'
import { type Postgres, startPostgres } from './postgres.ts'

/** Those in which every kind of statement of the store is used. */
const suites = [
  'hostile-texts',
  'http',
  'login',
  'passwords-and-tokens',
  'registration',
  'sessions',
]

let postgres: Postgres
const inFiles = stores.open

// Not within a suite: those below register theirs beside it.
before(async function () {
  postgres = await startPostgres(this)
  stores.open = async () => {
    const database = await postgres.open(await postgres.schema())
    return openPostgresStore(database)
  }
})
after(async () => {
  stores.open = inFiles
  await postgres?.remove()
})

for (const suite of suites) await import(`../server/accounts/${suite}.test.ts`)
