import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../../lib/util/time.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import {
  type AccountTable,
  rowsAtOnce,
  type TableReader,
  type TableRow,
  type TableWriter,
} from '../tables.ts'
import { checkFiles } from './check-files.ts'
import { orStoreError } from './database.ts'
import { connect, createFile, openDatabase } from './open-database.ts'
import { migrations } from './schema.ts'

interface FileOptions {
  readonly file: string
  readonly clock: Clock
  readonly log: Logger
  readonly busyMs: number
}

/** Runs `action` on the rows of a database that no other process has open. */
export async function readFileTables<Value>(
  options: FileOptions,
  action: (reader: TableReader) => Promise<Value>,
): Promise<Value> {
  const db = await openDatabase({ ...options, create: false, migrations })
  try {
    const meta = db.prepare("SELECT value FROM meta WHERE name = 'registry_id'").get()
    return await action({
      name: options.file,
      registryId: String(meta?.['value']),
      rows: table => rowsOf(db, table),
    })
  } finally {
    db.close()
  }
}

/** Makes the database with what `fill` writes, or not at all. Throws `file_exists`. */
export async function writeFileTables<Value>(
  options: FileOptions & { registryId: string },
  fill: (writer: TableWriter) => Promise<Value>,
): Promise<Value> {
  const { file, registryId } = options
  // Also what is left of an earlier database: SQLite would mix its log into this one.
  if (await checkFiles(file, options.log)) throw exists(file)
  let value: { readonly filled: Value } | null = null
  const isMade = await orStoreError(file, 'it was not made', () =>
    createFile({ ...options, migrations }, registryId, async temporary => {
      const db = connect(temporary, 'rw')
      try {
        // Without a log, which would be lost when the disk is full while it is carried over.
        db.exec('PRAGMA journal_mode = DELETE')
        db.exec('BEGIN')
        value = { filled: await fill(writerOf(db, file)) }
        db.exec('COMMIT')
      } finally {
        db.close()
      }
    }),
  )
  if (isMade && value !== null) return (value as { readonly filled: Value }).filled
  throw exists(file)
}

function exists(file: string): ServiceError {
  return new ServiceError('file_exists', `${file} is there already`, {
    hint: 'name another --data-dir',
  })
}

function writerOf(db: DatabaseSync, name: string): TableWriter {
  return {
    name,
    rows: table => rowsOf(db, table),
    async insert({ name: table, columns }, rows) {
      const insert = db.prepare(
        `INSERT INTO ${table} (${columns.join()}) VALUES (${columns.map(() => '?').join()})`,
      )
      for (const row of rows) insert.run(...columns.map(column => row[column] ?? null))
    },
  }
}

async function* rowsOf(db: DatabaseSync, { name, key, columns }: AccountTable) {
  const select = db.prepare(`SELECT ${columns.join()} FROM ${name} ORDER BY ${key.join()}`)
  let rows: TableRow[] = []
  for (const row of select.iterate()) {
    rows.push(row as TableRow)
    if (rows.length < rowsAtOnce) continue
    yield rows
    rows = []
  }
  yield rows
}
