import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { CamelCasePlugin, Kysely, PostgresDialect } from 'kysely'
import type pg from 'pg'
import { ensurePrivateFolder } from '../../lib/config/private-file.ts'
import { messageOf, ServiceError } from '../../lib/util/errors.ts'
import { databaseName } from './settings.ts'
import { sqliteDialect } from './sqlite.ts'

/**
 * An open database, which `db.destroy()` closes. Its queries reject with `storage_failed` or
 * `storage_full`. Names in snake case are camel case in queries and rows.
 */
export interface Database<Tables> {
  readonly db: Kysely<Tables>
  /** Null with SQLite. */
  readonly pool: pg.Pool | null
  /** For messages: the file, or host, port and database. */
  readonly name: string
}

interface DatabaseOptions {
  /** Folder of `registry.db`, made when it is missing. */
  dataDir: string
  /** A PostgreSQL database in place of the file; checked by `parseDatabaseUrl`. */
  url?: URL
  /** False: a missing file is an error. */
  create: boolean
}

/** Throws `storage_failed`, `storage_full`, `registry_dir_unsafe`, and `config_invalid` without pg. */
export async function openDatabase<Tables>(options: DatabaseOptions): Promise<Database<Tables>> {
  const { dataDir, url, create } = options
  if (url !== undefined) return openPostgres(url)
  const file = join(dataDir, 'registry.db')
  if (!create && !existsSync(file)) throw noAccountsServer(dataDir)
  await ensurePrivateFolder(dataDir)
  const dialect = sqliteDialect(file, error => toStorageError(error, file))
  return { db: new Kysely({ dialect, plugins: [new CamelCasePlugin()] }), pool: null, name: file }
}

export function noAccountsServer(place: string): ServiceError {
  const hint =
    'name its folder with --data-dir, or its database with SERVICE_DATABASE_URL; service-cli registry makes one'
  return new ServiceError('storage_failed', `there is no accounts server in ${place}`, { hint })
}

async function openPostgres<Tables>(url: URL): Promise<Database<Tables>> {
  const name = databaseName(url)
  const driver = await import('pg').catch(error => {
    const hint = 'npm install --global pg, or without --global as service-cli was installed'
    const message = 'the package pg, which PostgreSQL needs, is missing'
    throw new ServiceError('config_invalid', message, { cause: error, hint })
  })
  const { Pool, types } = driver.default
  // Counts and times, which are far below 2 ** 53.
  types.setTypeParser(types.builtins.INT8, Number)
  const pool = new Pool({
    connectionString: url.href,
    application_name: 'service-cli',
    keepAlive: true,
    connectionTimeoutMillis: 5000,
    // PostgreSQL ends a statement after the first, the driver after the second.
    statement_timeout: 10_000,
    query_timeout: 15_000,
    // A server that hangs in a transaction must not keep its locks.
    idle_in_transaction_session_timeout: 15_000,
  })
  // Without listeners the process would end. Running queries fail by themselves.
  pool.on('error', () => {})
  pool.on('connect', client => void client.on('error', () => {}))
  async function attempt<Value>(action: () => Promise<Value>): Promise<Value> {
    try {
      return await action()
    } catch (error) {
      throw toStorageError(error, name)
    }
  }
  const dialect = new PostgresDialect({
    pool: {
      options: pool.options,
      async connect() {
        const client = await attempt(() => pool.connect())
        return {
          query: (text: string, values: unknown[]) => attempt(() => client.query(text, values)),
          release: (destroy?: boolean) => client.release(destroy),
        } as never
      },
      end: () => pool.end(),
    },
  })
  return { db: new Kysely({ dialect, plugins: [new CamelCasePlugin()] }), pool, name }
}

const sqliteFull = 13
const postgresFull = '53100'

function toStorageError(error: unknown, name: string): ServiceError {
  if (error instanceof ServiceError) return error
  const { code, errcode = 0 } = error as { code?: unknown; errcode?: number }
  if (code === postgresFull || (errcode & 0xff) === sqliteFull) {
    const hint = 'free space on its disk'
    return new ServiceError('storage_full', `${name}: the disk is full`, { cause: error, hint })
  }
  // A host with several addresses has an error for each, and no message of its own.
  const reason = messageOf(error) || String(code)
  return new ServiceError('storage_failed', `${name}: ${reason}`, { cause: error })
}
