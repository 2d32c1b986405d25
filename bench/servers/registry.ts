/**
 * The registry as `accounts-server.ts` composes it, without its access log. With `memory` as its
 * argument a session is looked up once and kept: what is left out is the look-up in the database,
 * and nothing else.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { localIssuer } from '../../src/server/accounts/accounts-server.ts'
import { createAccountsApp } from '../../src/server/accounts/app.ts'
import { LoginLimits } from '../../src/server/accounts/login-limits.ts'
import { Passwords } from '../../src/server/accounts/passwords.ts'
import type { AccountTables } from '../../src/server/accounts/schema.ts'
import { SigningKeys } from '../../src/server/accounts/signing-keys.ts'
import { AccountStore } from '../../src/server/accounts/store.ts'
import { Tokens } from '../../src/server/accounts/tokens.ts'
import { openDatabase } from '../../src/server/database/database.ts'
import { listenerOf } from '../../src/server/http/app.ts'
import { Metrics } from '../../src/server/http/metrics.ts'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { announce } from './announce.ts'

const [, , dataDir = '', lookUp = 'database'] = process.argv

const store = await AccountStore.open(await openDatabase<AccountTables>({ dataDir, create: true }))
if (lookUp === 'memory') keepSessions()
const keys = await SigningKeys.open(join(dataDir, 'signing-keys.json'), { create: true })
const app = createAccountsApp({
  services: {
    store,
    tokens: new Tokens({ store, keys, issuer: localIssuer }),
    passwords: new Passwords(),
    loginLimits: new LoginLimits(null),
    registration: 'open',
    local: true,
    log: silentLogger,
  },
  keys,
  reach: { host: '127.0.0.1' },
  metrics: new Metrics('registry', () => {}),
})
const server = createServer({ noDelay: true, keepAlive: true }, listenerOf(app))
server.listen(0, '127.0.0.1', 4096, () => announce(server.address() as AddressInfo))

function keepSessions(): void {
  const kept = new Map<string, ReturnType<AccountStore['findSession']>>()
  const findSession = store.findSession.bind(store)
  store.findSession = id => {
    const found = kept.get(id) ?? findSession(id)
    kept.set(id, found)
    return found
  }
}
