import { join } from 'node:path'
import type { RegistrationMode } from '../../lib/accounts/protocol.ts'
import { isLoopback } from '../../lib/util/net.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { stoppable, ServerSocket } from '../http/server-socket.ts'
import { repeat, systemTimer } from '../../lib/util/time.ts'
import { openDatabase } from '../database/database.ts'
import type { AccessLog } from '../http/access-log.ts'
import { listenerOf } from '../http/app.ts'
import { findOpening, type ListenOptions } from '../http/listen-options.ts'
import { serverDefaults } from '../http/limits.ts'
import { Metrics } from '../http/metrics.ts'
import { createAccountsApp } from './app.ts'
import { LoginLimits } from './login-limits.ts'
import { Passwords } from './passwords.ts'
import { SigningKeys } from './signing-keys.ts'
import type { AccountTables } from './schema.ts'
import { AccountStore } from './store.ts'
import { Tokens } from './tokens.ts'

/** `iss` without `--public-url`: the keys tell one accounts server from another. */
export const localIssuer = 'urn:service-cli:registry'
const sweepMs = 60 * 60_000
/** Keys that the operator rotated are used after this. */
const keyReloadMs = 1000

/** Everything `registry` decided before the server starts: checked values, no flags. */
export interface AccountsServerOptions extends ListenOptions {
  /** Also the issuer (`iss`) of the tokens. */
  publicUrl?: string
  /** Folder of the signing keys and, without `database`, of the accounts. */
  dataDir: string
  /** A PostgreSQL database in place of the one in the folder. */
  database?: URL
  /** Default: open where only this machine reaches the accounts server, by invitation elsewhere. */
  registration?: RegistrationMode
  log: Logger
  accessLog: AccessLog
  limits?: { accessTokenMs?: number }
}

/**
 * Opens the database and the keys, made where there are none, and binds. Once `cancelled` is
 * aborted it does not bind any more: it rejects and leaves nothing open. The API is below
 * `/api/v1/auth` of `url`; `local`: only this machine reaches it.
 */
export async function startAccountsServer(
  options: AccountsServerOptions,
  cancelled?: Pick<AbortSignal, 'throwIfAborted'>,
) {
  const { dataDir, database: url, publicUrl, log } = options
  const local = isLocalOnly(options)
  const registration = options.registration ?? (local ? 'open' : 'invite')

  // Ended in reverse order: at the stop, or at once when a later step of the start fails.
  await using opened = new AsyncDisposableStack()
  const database = await openDatabase<AccountTables>({ dataDir, url, create: true })
  const store = await AccountStore.open(database)
  opened.defer(() => store.close())
  // A server that joins others on one database must have their keys.
  const create = store.isNew || database.pool === null
  const keys = await SigningKeys.open(join(dataDir, 'signing-keys.json'), { create })
  const repeatedly = (everyMs: number, failure: string, run: () => Promise<void>) =>
    opened.defer(repeat(systemTimer, everyMs, () => run().catch(err => log.warn({ err }, failure))))
  repeatedly(keyReloadMs, 'signing keys were not reloaded', () => keys.reload())
  repeatedly(sweepMs, 'ended rows were not removed', () => store.sweep(Date.now()))

  const socket = new ServerSocket(options, { limits: serverDefaults, log })
  opened.defer(() => socket.stop())
  const issuer = publicUrl === undefined ? localIssuer : socket.url
  const app = createAccountsApp({
    store,
    tokens: new Tokens({ store, keys, issuer, accessTokenMs: options.limits?.accessTokenMs }),
    passwords: new Passwords(),
    loginLimits: new LoginLimits(database.pool),
    registration,
    local,
    log,
    keys,
    reach: options,
    metrics: new Metrics('registry', options.accessLog),
  })
  cancelled?.throwIfAborted()
  await socket.bind({ listener: listenerOf(app) })
  const running = opened.move()
  return { url: socket.url, registration, local, ...stoppable(() => running.disposeAsync()) }
}

/** Whether only this machine reaches the server. `--allowed-host` may name a proxy before it. */
export function isLocalOnly(options: Omit<ListenOptions, 'port'>): boolean {
  const names = (options.allowedHosts ?? []).map(name => name.replace(/:\d+$/, ''))
  return findOpening(options) === null && names.every(isLoopback)
}
