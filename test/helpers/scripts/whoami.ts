// Asks who is logged in with the saved token, refreshing it when that is due. Says "ready" and waits
// for a line before it begins.
import { once } from 'node:events'
import { createConfigStore } from '../../../src/lib/config/config-store.ts'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { connectAccounts } from '../../../src/lib/accounts/connect.ts'
import { requireAccountsUrl } from '../../../src/lib/config/accounts-url.ts'
import { withSavedToken } from '../../../src/lib/accounts/session.ts'

const [path = '', url = ''] = process.argv.slice(2)
const store = createConfigStore({ path, log: silentLogger, lockWaitMs: 60_000 })
const server = requireAccountsUrl(url, 'the test')
const client = connectAccounts({ server, entry: undefined, configPath: path, env: {} })
const parts = { client, store, log: silentLogger, refreshMarginMs: 300_000 }
process.stdout.write('ready\n')
await once(process.stdin, 'data')
process.stdin.destroy()
const me = await withSavedToken(parts, token => client.me(token))
process.stdout.write(`${me.username}\n`)
