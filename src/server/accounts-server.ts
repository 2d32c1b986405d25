import { isLoopback } from '../lib/util/net.ts'
import { systemClock, systemTimer } from '../lib/util/time.ts'
import { corsMethods, createAccountsListener } from './accounts/app.ts'
import { resolveAccountLimits } from './accounts/limits.ts'
import { openAccounts } from './accounts/open-accounts.ts'
import { createAccountServices } from './accounts/services.ts'
import { sweepRegularly } from './accounts/audit-trail.ts'
import type { ListenOptions } from './http/listen-options.ts'
import { Metrics } from './http/metrics.ts'
import { createRequestChecks } from './http/request-checks.ts'
import { ServerSocket } from './http/server-socket.ts'
import { stoppable } from '../lib/util/stoppable.ts'
import { defaultLimits } from '../lib/config/limits.ts'
import { storeDefaults } from './database/limits.ts'
import { httpDefaults } from './http/limits.ts'
import type { AccountsServerHandle, AccountsServerOptions } from './accounts/options.ts'
import { version } from '../lib/util/version.ts'

/**
 * The accounts server: opens the database and the keys, made where there are none, and binds.
 * Once `cancelled` is aborted, it does not bind any more: it rejects and leaves nothing open.
 */
export async function startAccountsServer(
  options: AccountsServerOptions,
  cancelled: Pick<AbortSignal, 'throwIfAborted'> = new AbortController().signal,
): Promise<AccountsServerHandle> {
  const { log } = options
  const limits = {
    ...defaultLimits,
    ...httpDefaults,
    ...storeDefaults,
    ...resolveAccountLimits(options.limits),
  }
  const clock = systemClock

  // Ended in reverse order: at the stop, or at once when a later step of the start fails.
  await using opened = new AsyncDisposableStack()
  const { dataDir, database } = options
  const busyMs = limits.maxStoreWaitMs
  const accounts = await openAccounts({ dataDir, database, clock, log, busyMs })
  const { store } = accounts
  opened.defer(() => store.close())
  cancelled.throwIfAborted()
  const keys = await accounts.openKeys({ lifetimes: limits, rotationMs: limits.keyRotationMs })
  opened.defer(accounts.followKeys(keys, limits.keyPollMs))
  opened.defer(sweepRegularly({ store, clock, timer: systemTimer, log, limits }))

  const socket = await ServerSocket.open(options, { limits, log })
  opened.defer(() => socket.stop())
  const local = isLocal(options)
  const registration = options.registration ?? (local ? 'open' : 'invite')
  const services = createAccountServices({
    store,
    keys,
    issuer:
      options.publicUrl === undefined ? `urn:service-cli:registry:${store.registryId}` : socket.url,
    registration,
    local,
    limits,
    clock,
    log,
  })
  const listener = createAccountsListener({
    ...createRequestChecks(options, corsMethods),
    services,
    version,
    limits,
    log,
    metrics: new Metrics('registry', options.accessLog),
  })
  cancelled.throwIfAborted()
  await socket.bind({ listener })
  const running = opened.move()
  return { url: socket.url, registration, local, ...stoppable(() => running.disposeAsync()) }
}

/**
 * Whether only this machine reaches the accounts server. A proxy before a loopback address lets
 * others in: then `--public-url`, or `--allowed-host`, names the address that they use.
 */
export function isLocal({
  host,
  publicUrl,
  allowedHosts = [],
}: Pick<ListenOptions, 'host' | 'publicUrl' | 'allowedHosts'>): boolean {
  const named = publicUrl === undefined ? allowedHosts : [...allowedHosts, new URL(publicUrl).host]
  const names = named.map(name => name.replace(/:\d+$/, ''))
  return [host, ...names].every(isLoopback)
}
