import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AccountStore } from '../../../src/server/accounts/store.ts'
import { openDatabase } from '../../../src/server/database/database.ts'
import { describeAccountStore } from './account-store-suite.ts'

describeAccountStore('SQLite', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'account-store-'))
  const opened: AccountStore[] = []
  const again = async () => {
    const store = await AccountStore.open(await openDatabase({ dataDir, create: true }))
    opened.push(store)
    return store
  }
  return {
    store: await again(),
    again,
    async remove() {
      for (const store of opened) await store.close()
      await rm(dataDir, { recursive: true })
    },
  }
})
