import type { AccountStore } from '../../src/server/accounts/account-store.ts'
import { openPostgresStore } from '../../src/server/accounts/postgres/postgres-store.ts'
import { describeAccountStore } from './account-store-suite.ts'
import { type Postgres, startPostgres } from './postgres.ts'

describe('accounts in PostgreSQL', () => {
  let postgres: Postgres
  before(async function () {
    postgres = await startPostgres(this)
  })
  after(() => postgres?.remove())

  describeAccountStore('PostgreSQL', async () => {
    const url = await postgres.schema()
    const opened: AccountStore[] = []
    const again = async () => {
      const database = await postgres.open(url)
      const store = await openPostgresStore(database)
      opened.push(store)
      return store
    }
    return {
      store: await again(),
      again,
      async remove() {
        for (const store of opened) await store.close()
      },
    }
  })
})
