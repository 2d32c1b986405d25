import { DatabaseSync, type DatabaseSyncOptions } from 'node:sqlite'
import { randomUUID } from 'node:crypto'
import { pathToFileURL } from 'node:url'
import { errnoOf, ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import type { Result } from '../../../lib/util/result.ts'
import { checkFiles } from './check-files.ts'
import { orStoreError, untilFree } from './database.ts'
import { publishFile } from './publish-file.ts'
import { checkSchema, createSchema, type SchemaProblem } from './schema.ts'
import { open, readdir, readlink, stat } from 'node:fs/promises'
import { endianness } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'

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
    await checkWal(file)
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

/** sqlite.org/walformat.html: of the file, of each frame before its page. */
const walHeaderBytes = 32
const frameHeaderBytes = 24
/** The part of the index that is read: one of the two copies of its header. */
const indexHeaderBytes = 48
const attempts = 10
const pauseMs = 20

/**
 * Throws `storage_failed` when the write-ahead log is shorter than its index says. After the end
 * of a process SQLite takes as much of the log as it finds and calls that the database; of a log
 * that was cut or removed it would silently forget what was acknowledged. The index is written
 * after the log and removed before it, so a log that is shorter than it was cut.
 */
async function checkWal(file: string): Promise<void> {
  // Who has it open in this process needs no check, and would lose its locks by it (POSIX).
  if (await isOpenHere(`${file}-shm`)) return
  for (let attempt = 1; ; attempt++) {
    const needed = await neededBytes(`${file}-shm`)
    const size = await sizeOf(`${file}-wal`)
    if ((size ?? 0) >= needed) return
    if (attempt === attempts) throw cut(`${file}-wal`, size, needed)
    // Another process may have just emptied both.
    await delay(pauseMs)
  }
}

/** How long a log must be that goes with this index. */
export function walBytes(index: Buffer): number {
  const little = endianness() === 'LE'
  const isInit = index.readUInt8(12)
  const pageBytes = little ? index.readUInt16LE(14) : index.readUInt16BE(14)
  const frames = little ? index.readUInt32LE(16) : index.readUInt32BE(16)
  if (isInit !== 1 || frames === 0) return 0
  // 1 stands for 65536, which does not fit.
  const page = pageBytes === 1 ? 65_536 : pageBytes
  return walHeaderBytes + frames * (frameHeaderBytes + page)
}

async function neededBytes(path: string): Promise<number> {
  const handle = await open(path, 'r').catch(error => {
    if (errnoOf(error) === 'ENOENT') return null
    throw error
  })
  if (handle === null) return 0
  try {
    const header = Buffer.alloc(indexHeaderBytes)
    const { bytesRead } = await handle.read(header, 0, indexHeaderBytes, 0)
    return bytesRead < indexHeaderBytes ? 0 : walBytes(header)
  } finally {
    await handle.close()
  }
}

/** Null when there is no file. */
async function sizeOf(path: string): Promise<number | null> {
  const found = await stat(path).catch(error => {
    if (errnoOf(error) === 'ENOENT') return null
    throw error
  })
  return found?.size ?? null
}

/** Where the system does not tell (anything but Linux) the program opens a database once. */
async function isOpenHere(path: string): Promise<boolean> {
  const folder = '/proc/self/fd'
  const names = await readdir(folder).catch(() => [])
  const targets = await Promise.all(
    names.map(name => readlink(`${folder}/${name}`).catch(() => '')),
  )
  return targets.includes(path)
}

function cut(path: string, size: number | null, needed: number): ServiceError {
  const isShort = `was cut: it has ${size} bytes of at least ${needed}`
  const what = `${path} ${size === null ? 'is missing' : isShort}`
  const hint = 'put the whole file back, or restore a backup'
  return new ServiceError('storage_failed', `${what}, so changes would be lost`, { hint })
}
