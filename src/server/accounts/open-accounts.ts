import { ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { checkRegularly } from '../database/regular-check.ts'
import { type Clock, repeat, systemTimer } from '../../lib/util/time.ts'
import { listen } from '../database/listener.ts'
import { openDatabase } from '../database/pool.ts'
import { databaseName, type DatabaseSettings } from '../database/settings.ts'
import type { AccountStore } from './account-store.ts'
import { type DataFiles, dataFiles, isThere, openAccountsStore } from './data-folder.ts'
import { openFileKeys } from './keys/file-keys.ts'
import { type KeyStore, type KeyStoreOptions, keyUpdater, openKeyStore } from './keys/key-store.ts'
import { hasAccounts, openPostgresStore } from './postgres/postgres-store.ts'
import { keysChannel, postgresKeys } from './postgres/postgres-keys.ts'
import { openDataFolder } from './sqlite/check-files.ts'

/** The accounts and the keys of an accounts server, in files or in a database. */
export interface Accounts {
  readonly store: AccountStore
  /** For a backup; null where the database has tools of its own for that. */
  readonly files: AccountFiles | null
  openKeys(options: Omit<KeyStoreOptions, 'clock' | 'log'>): Promise<KeyStore>
  /** Keeps a running server on the keys as they are stored. Returns the stop. */
  followKeys(keys: KeyStore, pollMs: number): () => void
}

interface AccountFiles extends DataFiles {
  /** A consistent copy of the database while others write; `target` must not exist. */
  copyDatabase(target: string): Promise<void>
}

interface AccountsOptions {
  readonly dataDir: string
  /** In its place: the folder has only the wrapping key then. */
  readonly database?: DatabaseSettings
  readonly clock: Clock
  readonly log: Logger
  readonly busyMs: number
  /** Make what is missing. Default true. */
  readonly create?: boolean
}

/** Opens them, until `store` is closed. */
export function openAccounts(options: AccountsOptions): Promise<Accounts> {
  const { database } = options
  return database === undefined ? openFiles(options) : openDatabaseAccounts(options, database)
}

async function openFiles(options: AccountsOptions): Promise<Accounts> {
  const { dataDir, clock, log, busyMs } = options
  const files = dataFiles(dataDir)
  const isKnown = await isThere(files.database)
  const store = await openAccountsStore(options)
  return {
    store,
    files: { ...files, copyDatabase: target => store.backup(target) },
    openKeys: keyOptions =>
      openFileKeys({ replaces: isKnown, ...keyOptions, file: files.keys, clock, log, busyMs }),
    followKeys: (keys, pollMs) => repeat(systemTimer, pollMs, keyUpdater(keys, log)),
  }
}

async function openDatabaseAccounts(
  { dataDir, clock, log, busyMs, create = true }: AccountsOptions,
  settings: DatabaseSettings,
): Promise<Accounts> {
  const database = await openDatabase({ settings, log, waitMs: busyMs })
  try {
    if (!create && !(await hasAccounts(database))) throw absent(settings)
    const opened = await openPostgresStore(database)
    // Anyone may ask for it, and a database far away may answer late.
    const store = { ...opened, ping: checkRegularly(opened.ping) }
    const file = dataFiles(dataDir).wrappingKey
    const ring = postgresKeys({ database, file, registryId: store.registryId, log })
    return {
      store,
      files: null,
      async openKeys(keyOptions) {
        await openDataFolder(dataDir, log)
        return openKeyStore(ring, { ...keyOptions, clock, log })
      },
      followKeys: (keys, pollMs) =>
        listen({
          database,
          channel: keysChannel,
          timer: systemTimer,
          log,
          pollMs,
          reread: keyUpdater(keys, log),
        }),
    }
  } catch (error) {
    await database.close()
    throw error
  }
}

/** The error of a database without accounts. */
function absent(settings: DatabaseSettings): ServiceError {
  const name = databaseName(settings)
  const hint = 'check the address; service-cli registry --database makes one'
  return new ServiceError('storage_failed', `there is no accounts server in ${name}`, { hint })
}
