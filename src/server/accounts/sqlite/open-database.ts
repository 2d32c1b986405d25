import { DatabaseSync, type DatabaseSyncOptions } from 'node:sqlite'
import { randomUUID } from 'node:crypto'
import { pathToFileURL } from 'node:url'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import type { Result } from '../../../lib/util/result.ts'
import { checkFiles } from './check-files.ts'
import { orStoreError, untilFree } from './database.ts'
import { publishFile } from './publish-file.ts'
import { checkSchema, createSchema, type SchemaProblem } from './schema.ts'

interface OpenOptions {
  readonly file: string
  readonly log: Logger
  /** A file that another process keeps locked is waited for so long. */
  readonly busyMs: number
  /** Make the file when there is none; else that is an error. */
  readonly create: boolean
}

const notOpened = 'it cannot be opened'

/**
 * Opens the database, made where needed. Whatever is there and not of this version is refused and
 * stays as it is.
 */
export async function openDatabase(options: OpenOptions): Promise<DatabaseSync> {
  const { file, log, busyMs, create } = options
  if (!(await checkFiles(file, log))) {
    if (!create) throw absent(file)
    await orStoreError(file, notOpened, () => createFile(options))
  }
  return orStoreError(file, notOpened, async () => {
    const db = connect(file, 'rw')
    try {
      // Before anything is written: what is not ours is not touched.
      accept(file, await untilFree(busyMs, () => checkSchema(db)))
      await untilFree(busyMs, () => checkIntegrity(db, file, 'quick_check'))
      await configure(db, busyMs)
      return db
    } catch (error) {
      db.close()
      throw error
    }
  })
}

/** Never makes a file. `timeout: 0`: see `createDatabase`. */
export function connect(
  file: string,
  mode: 'rw' | 'ro',
  options: DatabaseSyncOptions = {},
): DatabaseSync {
  const url = pathToFileURL(file)
  url.searchParams.set('mode', mode)
  const db = new DatabaseSync(url, {
    timeout: 0,
    readOnly: mode === 'ro',
    enableForeignKeyConstraints: true,
    ...options,
  })
  return db
}

/** Throws `storage_failed` unless every page and every row is as it should be. */
export function checkIntegrity(
  db: DatabaseSync,
  file: string,
  check: 'quick_check' | 'integrity_check',
): void {
  const found = db.prepare(`PRAGMA ${check}(1)`).get()
  const answer = found?.[check] ?? Object.values(found ?? {})[0]
  if (answer !== 'ok') {
    const hint = 'stop the accounts server and restore a backup'
    throw new ServiceError('storage_failed', `${file} is damaged: ${String(answer)}`, { hint })
  }
}

export function accept<Value>(file: string, result: Result<Value, SchemaProblem>): Value {
  if (result.ok) return result.value
  const { what, hint } = result.failure
  throw new ServiceError('storage_failed', `${file} cannot be used: ${what}`, { hint })
}

/** Under a temporary name: a file that is there is never one half made. False: it was there already. */
export function createFile({
  file,
  busyMs,
}: Pick<OpenOptions, 'file' | 'busyMs'>): Promise<boolean> {
  return publishFile(file, async temporary => {
    const db = connect(temporary, 'rw')
    try {
      // Without a log, which would be lost when the disk is full while it is carried over.
      createSchema(db)
      const insert = db.prepare('INSERT INTO meta (name, value) VALUES (?, ?)')
      insert.run('registry_id', randomUUID())
      await configure(db, busyMs)
    } finally {
      db.close()
    }
  })
}

async function configure(db: DatabaseSync, busyMs: number): Promise<void> {
  // Not waited for by SQLite when several processes open a file at once, whatever its timeout.
  const mode = await untilFree(busyMs, () => db.prepare('PRAGMA journal_mode = WAL').get())
  if (mode?.['journal_mode'] !== 'wal') {
    const hint = 'name a folder on a local disk with --data-dir'
    throw new ServiceError('storage_failed', 'the database cannot be shared by processes here', {
      hint,
    })
  }
  // FULL: what was acknowledged is on the disk, also after a loss of power.
  for (const setting of ['synchronous = FULL', 'fullfsync = ON', 'checkpoint_fullfsync = ON']) {
    db.exec(`PRAGMA ${setting}`)
  }
  for (const setting of ['trusted_schema = OFF', 'cell_size_check = ON', 'temp_store = MEMORY']) {
    db.exec(`PRAGMA ${setting}`)
  }
}

function absent(file: string): ServiceError {
  const hint = 'name the folder of the accounts server with --data-dir'
  return new ServiceError('storage_failed', `there is no accounts database ${file}`, { hint })
}
