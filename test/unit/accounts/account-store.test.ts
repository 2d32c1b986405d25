import { AccountStore } from '../../../src/server/accounts/store.ts'
import { openDatabase } from '../../../src/server/database/database.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { describeAccountStore } from './account-store-suite.ts'

describeAccountStore('SQLite', async () =>
  AccountStore.open(await openDatabase({ dataDir: newFolder(), create: true })),
)
