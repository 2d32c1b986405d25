import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { isConflict, isStatementError, toDatabaseError, Unconfirmed } from './errors.ts'
import { databaseName } from '../../database/settings.ts'

type SqlValue = string | number | null | Buffer | readonly string[]

/** Statements on one connection. Their columns are named as the members of `Row`. */
export interface Queries {
  /** The text is prepared once for each connection: write it as a constant. */
  rows<Row>(sql: string, ...values: SqlValue[]): Promise<Row[]>
  /** The first row; null when there is no row. */
  row<Row>(sql: string, ...values: SqlValue[]): Promise<Row | null>
  /** The row of a statement that always has one. */
  one<Row>(sql: string, ...values: SqlValue[]): Promise<Row>
  /** Returns how many rows changed. */
  change(sql: string, ...values: SqlValue[]): Promise<number>
  /** Several statements, without values. Only `statement_timeout` limits their time. */
  script(sql: string): Promise<void>
}

/** A pool of connections to one database. Rejects with `storage_failed` or `storage_full`. */
export interface Database {
  /** For messages: host, port and database. */
  readonly name: string
  /** Runs statements on one connection. `what` begins the message of a failure. */
  run<Value>(what: string, action: (queries: Queries) => Promise<Value>): Promise<Value>
  /** A single statement, as in `Queries`. */
  rows<Row>(what: string, sql: string, ...values: SqlValue[]): Promise<Row[]>
  row<Row>(what: string, sql: string, ...values: SqlValue[]): Promise<Row | null>
  one<Row>(what: string, sql: string, ...values: SqlValue[]): Promise<Row>
  change(what: string, sql: string, ...values: SqlValue[]): Promise<number>
  /**
   * Runs `action` in a transaction (READ COMMITTED) that is durable when this resolves. Runs it again
   * after a deadlock.
   */
  transact<Value>(what: string, action: (queries: Queries) => Promise<Value>): Promise<Value>
  /** A new connection outside the pool, which the caller ends. */
  connect(): Promise<pg.Client>
  /** Waits for running statements. */
  close(): Promise<void>
}

interface DatabaseOptions {
  readonly settings: URL
  readonly log: Logger
  /** How long to wait for a connection. A statement may take twice as long. */
  readonly waitMs: number
}

const maxAttempts = 8
/** A query takes less than a millisecond; PostgreSQL allows 100 connections by default. */
const maxConnections = 10
const bigint = 20
const dayMs = 24 * 60 * 60 * 1000

/** Loads the driver and connects once, so that a wrong address fails at the start. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { settings, log, waitMs } = options
  const driver = await loadDriver()
  const name = databaseName(settings)
  const config: pg.ClientConfig = {
    connectionString: settings.href,
    application_name: 'service-cli',
    keepAlive: true,
    connectionTimeoutMillis: waitMs,
    // PostgreSQL ends a statement after the first, the driver after the second.
    statement_timeout: 2 * waitMs,
    query_timeout: 3 * waitMs,
    // A server that hangs in a transaction must not keep its locks.
    idle_in_transaction_session_timeout: 3 * waitMs,
    types: {
      // Counts and times, which are far below 2 ** 53.
      getTypeParser: ((id: number, format: 'text') =>
        id === bigint ? Number : driver.types.getTypeParser(id, format)) as never,
    },
  }
  const pool = new driver.Pool({ ...config, max: maxConnections })
  const onLost = (error: Error) => log.debug({ reason: error.message }, 'a connection was lost')
  // Without a listener the process would end. Running queries fail by themselves.
  pool.on('error', onLost)
  pool.on('connect', client => void client.on('error', onLost))
  let closed: Promise<void> | null = null

  const database: Database = {
    name,
    run: (what, action) => orDatabaseError(what, () => onConnection(autocommit(action))),
    rows: (what, sql, ...values) => database.run(what, queries => queries.rows(sql, ...values)),
    row: (what, sql, ...values) => database.run(what, queries => queries.row(sql, ...values)),
    one: (what, sql, ...values) => database.run(what, queries => queries.one(sql, ...values)),
    change: (what, sql, ...values) => database.run(what, queries => queries.change(sql, ...values)),

    transact: (what, action) =>
      orDatabaseError(what, async () => {
        for (let attempt = 1; ; attempt++) {
          try {
            return await onConnection(transaction(action))
          } catch (error) {
            if (!isConflict(error) || attempt === maxAttempts) throw error
          }
          await delay(2 ** attempt * Math.random())
        }
      }),

    async connect() {
      const client = new driver.Client(config)
      // The connection may be lost before the caller listens.
      client.on('error', onLost)
      await client.connect()
      return client
    },

    close: () => (closed ??= pool.end()),
  }

  async function onConnection<Value>(action: Action<Value>): Promise<Value> {
    const client = await pool.connect()
    const state = { isLost: false }
    try {
      return await action(queriesOf(client, state), state)
    } finally {
      client.release(state.isLost)
    }
  }

  async function orDatabaseError<Value>(
    what: string,
    action: () => Promise<Value>,
  ): Promise<Value> {
    try {
      return await action()
    } catch (error) {
      throw toDatabaseError(error, name, what)
    }
  }

  try {
    await database.rows('it cannot be opened', 'SELECT 1')
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Uses one connection; `state` says whether that was lost meanwhile. */
type Action<Value> = (queries: Queries, state: { isLost: boolean }) => Promise<Value>

/** Each change is a transaction of its own. */
function autocommit<Value>(action: (queries: Queries) => Promise<Value>): Action<Value> {
  return (queries, state) =>
    action({
      ...queries,
      change: (sql, ...values) => confirmed(queries.change(sql, ...values), state),
    })
}

function transaction<Value>(action: (queries: Queries) => Promise<Value>): Action<Value> {
  return async (queries, state) => {
    await queries.change('BEGIN')
    try {
      const value = await action(queries)
      await confirmed(queries.change('COMMIT'), state)
      return value
    } catch (error) {
      // On a lost connection PostgreSQL rolls back by itself.
      if (!state.isLost) await queries.change('ROLLBACK').catch(() => {})
      throw error
    }
  }
}

/** Rejects with `Unconfirmed` when the connection was lost before PostgreSQL had answered. */
function confirmed<Value>(change: Promise<Value>, state: { isLost: boolean }): Promise<Value> {
  return change.catch((error: unknown) => {
    throw state.isLost ? new Unconfirmed(error) : error
  })
}

const statementNames = new Map<string, string>()

/** The same name on each connection, under which PostgreSQL keeps the plan. */
function statementName(sql: string): string {
  const name = statementNames.get(sql) ?? `s${statementNames.size}`
  statementNames.set(sql, name)
  return name
}

function queriesOf(client: pg.PoolClient, state: { isLost: boolean }): Queries {
  async function query(config: pg.QueryConfig & { query_timeout?: number }) {
    try {
      return await client.query(config)
    } catch (error) {
      state.isLost ||= !isStatementError(error)
      throw error
    }
  }
  const prepared = (sql: string, values: unknown[]) =>
    query({ name: statementName(sql), text: sql, values: values.map(toStorable) })
  return {
    rows: async (sql, ...values) => (await prepared(sql, values)).rows,
    row: async (sql, ...values) => (await prepared(sql, values)).rows[0] ?? null,
    one: async (sql, ...values) => (await prepared(sql, values)).rows[0],
    change: async (sql, ...values) => (await prepared(sql, values)).rowCount ?? 0,
    // 0 would mean the default of the connection.
    script: async sql => void (await query({ text: sql, query_timeout: dayMs })),
  }
}

/** PostgreSQL refuses U+0000 in a text: U+FFFD takes its place. */
function toStorable(value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value
}

/** An optional dependency, which only an installation with a database needs. */
async function loadDriver(): Promise<typeof pg> {
  try {
    return (await import('pg')).default
  } catch (error) {
    throw new ServiceError('config_invalid', 'the package pg, which PostgreSQL needs, is missing', {
      cause: error,
      hint: 'npm install --global pg, or without --global as service-cli was installed',
    })
  }
}
