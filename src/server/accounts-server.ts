import { isLoopback, isWildcard } from '../lib/util/address.ts'
import { type Clock, systemClock, systemTimer } from '../lib/util/time.ts'
import type { Logger } from '../lib/util/logger.ts'
import { corsMethods, createAccountsListener } from './accounts/app.ts'
import { isThere, openRegistryStore, registryFiles } from './accounts/data-folder.ts'
import { followKeys, openKeyStore } from './accounts/keys/open-key-store.ts'
import type { KeyStore } from './accounts/keys/key-store.ts'
import { type AccountLimits, resolveAccountLimits } from './accounts/limits.ts'
import { type AccountServices, createAccountServices } from './accounts/services.ts'
import { sweepRegularly } from './accounts/audit-trail.ts'
import { createCors } from './http/cors.ts'
import { createGuard } from './http/guards.ts'
import { createPeerOf } from './http/trusted-proxies.ts'
import { listen } from './http/listen.ts'
import { baseUrlOf } from './http/listen-options.ts'
import { type Limits, resolveLimits } from '../lib/config/limits.ts'
import type { AccountsServerHandle, AccountsServerOptions } from './accounts/options.ts'
import { TlsSource } from './http/tls-source.ts'
import { version } from '../lib/util/version.ts'

/**
 * The account registry: opens the database and the keys, made where there are none, and binds.
 * Once `cancelled` is aborted, it does not bind any more: it rejects and leaves nothing open.
 */
export async function startAccountsServer(
  options: AccountsServerOptions,
  cancelled: Pick<AbortSignal, 'throwIfAborted'> = new AbortController().signal,
): Promise<AccountsServerHandle> {
  const { log, host } = options
  const limits = resolveLimits(options.limits)
  const accountLimits = resolveAccountLimits(options.accountLimits)
  const clock = systemClock
  const files = registryFiles(options.dataDir)

  // Ended in reverse order: at the stop, or at once when a later step of the start fails.
  await using opened = new AsyncDisposableStack()
  const isKnown = await isThere(files.database)
  const store = await openRegistryStore({
    dataDir: options.dataDir,
    clock,
    log,
    busyMs: limits.maxStoreWaitMs,
  })
  opened.defer(() => store.close())
  cancelled.throwIfAborted()
  const keys = await openKeys(files.keys, { isKnown, limits, accountLimits, clock, log })
  opened.defer(followKeys(keys, { timer: systemTimer, log, pollMs: limits.keyPollMs }))
  opened.defer(sweepRegularly({ store, clock, timer: systemTimer, log, limits: accountLimits }))

  const publicUrl = options.publicUrl?.replace(/\/+$/, '')
  const local = isLocal({ host, publicUrl, allowedHosts: options.allowedHosts })
  const registration = options.registration ?? (local ? 'open' : 'invite')
  const services = createAccountServices({
    store,
    keys,
    issuer: publicUrl ?? `urn:service-cli:registry:${store.registryId}`,
    registration,
    local,
    limits: accountLimits,
    clock,
    log,
  })
  const tls = options.tls && (await TlsSource.open(options.tls, { limits, log }))
  opened.defer(() => tls?.close())
  cancelled.throwIfAborted()
  const listening = await listen(
    { host, port: options.port },
    {
      listener: createListener(options, publicUrl, services, limits),
      tls,
      limits,
      log,
    },
  )
  opened.defer(() => listening.stop(() => {}))

  const running = opened.move()
  const closed = Promise.withResolvers<void>()
  let stopping: Promise<void> | null = null
  return {
    url: baseUrlOf(options, listening.address.port),
    registration,
    local,
    closed: closed.promise,
    stop() {
      stopping ??= running.disposeAsync().then(closed.resolve, closed.reject)
      return stopping
    },
  }
}

/**
 * Does this machine alone reach the registry? A proxy in front of a loopback address lets others
 * in: then `--public-url`, or `--allowed-host`, names the address that they use.
 */
export function isLocal(where: {
  readonly host: string
  readonly publicUrl: string | undefined
  readonly allowedHosts: readonly string[]
}): boolean {
  const { host, publicUrl, allowedHosts } = where
  const named = publicUrl === undefined ? allowedHosts : [...allowedHosts, new URL(publicUrl).host]
  const names = named.map(name => name.replace(/:\d+$/, ''))
  return [host, ...names].every(isLoopback)
}

function createListener(
  {
    host,
    allowedHosts,
    allowedOrigins,
    trustedProxies = [],
    log,
    accessLog,
  }: AccountsServerOptions,
  publicUrl: string | undefined,
  services: AccountServices,
  limits: Limits,
) {
  const publicHost = publicUrl === undefined ? [] : [new URL(publicUrl).host]
  return createAccountsListener({
    services,
    guard: createGuard({
      own: [host, ...publicHost],
      hosts: allowedHosts,
      origins: allowedOrigins,
    }),
    cors: createCors(allowedOrigins, corsMethods),
    boundToAll: isWildcard(host),
    peerOf: createPeerOf(trustedProxies),
    version,
    limits,
    log,
    accessLog,
  })
}

function openKeys(
  file: string,
  parts: {
    /** The registry has been used before. */
    isKnown: boolean
    limits: Limits
    accountLimits: AccountLimits
    clock: Clock
    log: Logger
  },
): Promise<KeyStore> {
  const { isKnown, limits, accountLimits, clock, log } = parts
  return openKeyStore({
    replaces: isKnown,
    file,
    clock,
    log,
    lifetimes: accountLimits,
    rotationMs: limits.keyRotationMs,
    busyMs: limits.maxStoreWaitMs,
  })
}
