import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AccountStore } from '../../../src/server/accounts/account-store.ts'
import { openSqliteStore } from '../../../src/server/accounts/sqlite/sqlite-store.ts'
import { describeAccountStore } from '../../studio/account-store-suite.ts'
import { settableClock } from '../../helpers/settable-clock.ts'

describeAccountStore('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'accounts-'))
  const opened: AccountStore[] = []
  const again = async () => {
    const clock = settableClock()
    // Long: other work of this machine must not fail the races.
    const store = await openSqliteStore({
      file: join(folder, 'registry.db'),
      clock,
      busyMs: 20_000,
    })
    opened.push(store)
    return store
  }
  return {
    store: await again(),
    again,
    async remove() {
      for (const store of opened) await store.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
})
