import { database } from '../server/accounts/harness.ts'
import { type Postgres, startPostgres } from './postgres.ts'

/** Those in which every kind of statement of the store, and every limit, is used. */
const suites = ['http', 'login', 'login-limits', 'passwords-and-tokens', 'registration', 'sessions']

let postgres: Postgres
const inFiles = database.url

// Not within a suite: those below register theirs beside it.
before(async function () {
  postgres = await startPostgres(this)
  database.url = async () => new URL(await postgres.schema())
})
after(() => void (database.url = inFiles))

for (const suite of suites) await import(`../server/accounts/${suite}.test.ts`)
