/**
 * The registry as `server/accounts-server.ts` composes it, without its access log. With `memory` as its
 * argument a session is looked up once and kept: what is left out is the look-up in the database,
 * and nothing else.
 */
import { Metrics } from '../../src/server/http/metrics.ts'
import { systemClock } from '../../src/lib/util/time.ts'
import type { AccountStore, SessionState } from '../../src/server/accounts/account-store.ts'
import { corsMethods, createAccountsListener } from '../../src/server/accounts/app.ts'
import { openAccountsStore, dataFiles } from '../../src/server/accounts/data-folder.ts'
import { openFileKeys } from '../../src/server/accounts/keys/file-keys.ts'
import { defaultAccountLimits } from '../../src/server/accounts/limits.ts'
import { createAccountServices } from '../../src/server/accounts/services.ts'
import { createRequestChecks } from '../../src/server/http/request-checks.ts'
import { createServer } from 'node:http'
import { announce } from './announce.ts'
import type { AddressInfo } from 'node:net'
import { storeDefaults } from '../../src/server/database/limits.ts'
import { httpDefaults } from '../../src/server/http/limits.ts'

const [, , dataDir = '', lookUp = 'database'] = process.argv
const ignore = () => {}
const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
const limits = storeDefaults

const clock = systemClock
const store = await openAccountsStore({ dataDir, clock, log, busyMs: limits.maxStoreWaitMs })
const keys = await openFileKeys({
  file: dataFiles(dataDir).keys,
  clock,
  log,
  lifetimes: defaultAccountLimits,
  rotationMs: limits.keyRotationMs,
  busyMs: limits.maxStoreWaitMs,
})
const services = createAccountServices({
  store: lookUp === 'memory' ? withKeptSessions(store) : store,
  keys,
  issuer: `urn:service-cli:registry:${store.registryId}`,
  registration: 'open',
  local: true,
  limits: defaultAccountLimits,
  clock,
  log,
})
const listener = createAccountsListener({
  services,
  ...createRequestChecks({ host: '127.0.0.1' }, corsMethods),
  version: '0.0.0',
  limits: httpDefaults,
  log,
  metrics: new Metrics('registry', ignore),
})
const server = createServer({ noDelay: true, keepAlive: true }, listener)
server.listen(0, '127.0.0.1', 4096, () => announce(server.address() as AddressInfo))

function withKeptSessions(inner: AccountStore): AccountStore {
  const kept = new Map<string, SessionState>()
  return {
    ...inner,
    async findSession(id) {
      const known = kept.get(id)
      if (known !== undefined) return known
      const found = await inner.findSession(id)
      if (found !== null) kept.set(id, found)
      return found
    },
  }
}
