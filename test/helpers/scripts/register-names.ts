// Opens the store, says so, and on a line of input registers the same names as others do; prints
// what came of it. Arguments: file, number of this process, how many names.
import { once } from 'node:events'
import { openSqliteStore } from '../../../src/server/accounts/sqlite/sqlite-store.ts'
import { newAccount, newSession } from '../new-account.ts'

const [file = '', worker = '', count = ''] = process.argv.slice(2)
const clock = { now: () => Date.now() }
const store = await openSqliteStore({ file, clock, busyMs: 60_000 })
process.stdout.write('open\n')
await once(process.stdin, 'data')

/** Long: nothing is forgotten while this runs. */
const forgetMs = 1e9
const outcomes: Record<string, number> = {}
for (let at = 0; at < Number(count); at++) {
  const name = Number(worker) % 2 === 0 ? `name${at}` : `NAME${at}`
  const account = newAccount(name, { id: `${worker} ${at}` })
  const session = newSession(account.id, `session ${worker} ${at}`)
  const outcome = await store.createAccount(account, { session })
  outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  const rotated = await store.rotateSession('shared', at, Date.parse('2030-01-02T00:00:00Z'))
  if (rotated) outcomes['rotated'] = (outcomes['rotated'] ?? 0) + 1
  await store.addFailure('shared', ['here'], at, forgetMs)
}
await store.close()
process.stdout.write(`${JSON.stringify({ id: store.registryId, outcomes })}\n`)
process.exit()
