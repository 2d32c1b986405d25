// Opens the store, says so, and on a line of input registers the same names as others do; prints
// what came of it. Arguments: data folder, number of this process, how many names.
import { once } from 'node:events'
import type { AccountTables } from '../../../src/server/accounts/schema.ts'
import { AccountStore } from '../../../src/server/accounts/store.ts'
import { openDatabase } from '../../../src/server/database/database.ts'
import { newAccount, newSession } from '../../unit/accounts/account-store-suite.ts'

const [dataDir = '', worker = '', count = ''] = process.argv.slice(2)
const store = await AccountStore.open(await openDatabase<AccountTables>({ dataDir, create: true }))
process.stdout.write('open\n')
await once(process.stdin, 'data')

const outcomes: Record<string, number> = {}
for (let at = 0; at < Number(count); at++) {
  const name = Number(worker) % 2 === 0 ? `name${at}` : `NAME${at}`
  const account = newAccount(name, { id: `${worker} ${at}` })
  const session = newSession(account.id, `session ${worker} ${at}`)
  const outcome = await store.createAccount(account, session)
  const next = { tokenHash: `token ${at + 1}`, seed: 'seed', rotatedAtMs: Date.now() }
  const rotated = await store.rotateSession('shared', `token ${at}`, next)
  for (const done of [outcome, rotated ? 'rotated' : 'late']) {
    outcomes[done] = (outcomes[done] ?? 0) + 1
  }
}
await store.close()
process.stdout.write(`${JSON.stringify({ outcomes })}\n`)
process.exit()
