import { chmodSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
} from 'kysely'

/** Of a file that another process is writing to. The event loop stands still meanwhile. */
const busyMs = 5000

function open(file: string): DatabaseSync {
  const sqlite = new DatabaseSync(file, { timeout: busyMs, enableForeignKeyConstraints: true })
  // Those beside it get the same mode. Fails for the file of another user.
  chmodSync(file, 0o600)
  // FULL: what was acknowledged is on the disk, also after a loss of power.
  sqlite.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON')
  return sqlite
}

/**
 * Kysely over `node:sqlite` on a file (0600), made when it is missing. `convert` makes the error
 * that callers get, also of the opening.
 */
export function sqliteDialect(file: string, convert: (error: unknown) => unknown): Dialect {
  function attempt<Value>(action: () => Value): Value {
    try {
      return action()
    } catch (error) {
      throw convert(error)
    }
  }
  const sqlite = attempt(() => open(file))
  const database: SqliteDatabase = {
    prepare(text) {
      const statement = attempt(() => sqlite.prepare(text))
      return {
        reader: statement.columns().length > 0,
        all: values => attempt(() => statement.all(...(values as SQLInputValue[]))),
        run: values => attempt(() => statement.run(...(values as SQLInputValue[]))),
        iterate: values => statement.iterate(...(values as SQLInputValue[])),
      }
    },
    close: () => sqlite.close(),
  }
  const dialect = new SqliteDialect({ database })
  dialect.createDriver = () => new Driver(sqlite, database)
  return dialect
}

class Driver extends SqliteDriver {
  readonly #sqlite: DatabaseSync

  constructor(sqlite: DatabaseSync, database: SqliteDatabase) {
    super({ database })
    this.#sqlite = sqlite
  }

  /** IMMEDIATE: a transaction that reads first must not fail when it writes. */
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }

  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    // A full disk has rolled it back already.
    if (this.#sqlite.isTransaction) await super.rollbackTransaction(connection)
  }
}
