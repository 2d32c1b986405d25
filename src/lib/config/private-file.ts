import { constants, type Stats } from 'node:fs'
import { chmod, type FileHandle, lstat, mkdir, open, readdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  errnoOf,
  isDiskFull,
  isMissing,
  messageOf,
  readProblem,
  ServiceError,
  unusableFile,
} from '../util/errors.ts'
import { isOwn, noFollow, noWait, ownUid } from '../util/posix.ts'
import { replaceFile } from '../util/replace-file.ts'

/**
 * Returns the text of a file that other users can neither read nor change; null when it is missing.
 * Type, owner and mode are those of the open file. Follows a symbolic link of this user or root.
 * With `mounted` also what container platforms and shells offer: a file of root that others may read,
 * and a pipe such as /dev/fd/63, whose writer is waited for. Throws `config_invalid`.
 */
export async function readPrivateFile(
  path: string,
  { maxBytes = 1024 * 1024, mounted = false }: { maxBytes?: number; mounted?: boolean } = {},
): Promise<string | null> {
  try {
    await using file = await openPrivateFile(path, mounted)
    refuseUnsafe(path, await file.stat(), mounted)
    const bytes = await buffer(file.createReadStream({ autoClose: false, end: maxBytes }))
    if (bytes.length <= maxBytes) return bytes.toString('utf8')
  } catch (error) {
    if (isMissing(error)) return null
    if (error instanceof ServiceError) throw error
    throw unusableFile(path, `cannot be read: ${readProblem(error)}`, 'make it readable for you')
  }
  throw unusableFile(path, `is larger than ${maxBytes} bytes`, 'look at it and remove it')
}

async function openPrivateFile(path: string, mounted: boolean): Promise<FileHandle> {
  const found = await lstat(path)
  const isLink = found.isSymbolicLink()
  if (isLink && !isOwn(found) && found.uid !== 0) {
    throw unusableFile(path, 'is a symbolic link of another user', 'name the file itself')
  }
  // A pipe in the place of a file must not hold up this process.
  return open(path, constants.O_RDONLY | (isLink ? 0 : noFollow) | (mounted ? 0 : noWait))
}

function refuseUnsafe(path: string, found: Stats, mounted: boolean): void {
  if (!found.isFile() && !(mounted && found.isFIFO())) {
    throw unusableFile(path, 'is not a regular file', 'remove it, or name another file')
  }
  if (ownUid() === null) return
  if (!isOwn(found) && found.uid !== 0) {
    const hint = 'have its owner remove it, or name a file of yours'
    throw unusableFile(path, `belongs to another user (uid ${found.uid})`, hint)
  }
  const mayBeRead = mounted && (found.uid === 0 || found.isFIFO())
  if ((found.mode & (mayBeRead ? 0o022 : 0o077)) === 0) return
  throw unusableFile(path, `is open to other users (mode ${octal(found)})`, `chmod 600 ${path}`)
}

/**
 * Replaces a file or link by a file (0600), in a folder that is made (0700) where it is missing.
 * Readers, also after a crash, find the old content or the new. Throws `storage_full`,
 * `storage_failed`, and as `ensurePrivateFolder`; then the old file stays.
 */
export async function writePrivateFile(path: string, data: string | Uint8Array): Promise<void> {
  await ensurePrivateFolder(dirname(resolve(path)))
  try {
    await replaceFile(path, data)
  } catch (error) {
    throw storageError(path, error)
  }
}

/**
 * Makes sure that `folder` exists, belongs to this user and that no other user can enter it (0700).
 * Throws `registry_dir_unsafe` for a symbolic link, a file, another owner, and a folder that others
 * can enter and that holds something: closing it is its owner's decision. Throws `storage_failed` or
 * `storage_full` when it cannot be made.
 */
export async function ensurePrivateFolder(folder: string): Promise<void> {
  // Without a trailing slash, which would make `lstat` follow a link.
  const path = resolve(folder)
  try {
    await mkdir(path, { recursive: true, mode: 0o700 }).catch(error => {
      if (errnoOf(error) !== 'EEXIST') throw error
    })
    const found = await lstat(path)
    if (found.isSymbolicLink()) throw unsafeFolder(path, 'is a symbolic link', 'remove it')
    if (!found.isDirectory()) throw unsafeFolder(path, 'is not a folder', 'remove it')
    if (!isOwn(found)) {
      throw unsafeFolder(path, `belongs to another user (uid ${found.uid})`, 'have it removed')
    }
    if (ownUid() === null || (found.mode & 0o077) === 0) return
    if ((await readdir(path)).length > 0) {
      const problem = `is open to other users (mode ${octal(found)})`
      throw unsafeFolder(path, problem, `chmod 700 ${path}, if it is yours alone`)
    }
    await chmod(path, 0o700)
  } catch (error) {
    throw storageError(path, error)
  }
}

/**
 * Returns the names in a folder of this user in which no other user can put a file; none where it
 * is missing. Throws `registry_dir_unsafe`, `storage_failed`.
 */
export async function listPrivateFolder(path: string): Promise<string[]> {
  try {
    const found = await stat(path)
    const isClosed = ownUid() === null || (found.mode & 0o022) === 0
    if (found.isDirectory() && isOwn(found) && isClosed) return await readdir(path)
  } catch (error) {
    if (isMissing(error)) return []
    throw storageError(path, error)
  }
  throw unsafeFolder(path, 'is not used: others can change it', `chmod 700 ${path}`)
}

function unsafeFolder(path: string, what: string, hint: string): ServiceError {
  return new ServiceError('registry_dir_unsafe', `the folder ${path} ${what}`, { hint })
}

/** The error of a file that cannot be written; a `ServiceError` as it is. */
export function storageError(path: string, error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  // An error of SQLite has no code, but a message.
  const message = `${path} cannot be written (${errnoOf(error) ?? messageOf(error)})`
  if (isDiskFull(error)) {
    const hint = 'free disk space, then try again'
    return new ServiceError('storage_full', message, { cause: error, hint })
  }
  const hint = `make ${path} writable for you, or use a folder on a local disk`
  return new ServiceError('storage_failed', message, { cause: error, hint })
}

function octal({ mode }: Stats): string {
  return (mode & 0o7777).toString(8).padStart(4, '0')
}

/**
 * Runs `action` while this process alone holds the lock of `path`, a file for nothing else in a
 * private folder. It is the lock of SQLite on an empty database: the system releases it when the
 * holder dies. Throws `config_busy` after `waitMs`, and as `writePrivateFile`.
 */
export async function withFileLock<Value>(
  path: string,
  action: () => Promise<Value>,
  waitMs = 10_000,
): Promise<Value> {
  using _lock = await takeLock(path, waitMs)
  return await action()
}

async function takeLock(path: string, waitMs: number): Promise<Disposable> {
  await ensurePrivateFolder(dirname(path))
  const { DatabaseSync } = await import('node:sqlite')
  const deadlineMs = performance.now() + waitMs
  for (;;) {
    const database = new DatabaseSync(path, { open: false, timeout: 0 })
    try {
      database.open()
      database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
      return database
    } catch (error) {
      if (database.isOpen) database.close()
      if (!isBusy(error)) throw storageError(path, error)
    }
    if (performance.now() >= deadlineMs) {
      throw new ServiceError('config_busy', `${path} is held by another service-cli`, {
        hint: 'wait for the other commands to end, then run this one again',
      })
    }
    // Different pauses, so that no process always comes last.
    await sleep(20 + Math.random() * 30)
  }
}

function isBusy(error: unknown): boolean {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0
  // SQLITE_BUSY; the upper bytes tell more of the same.
  return (code & 0xff) === 5
}
