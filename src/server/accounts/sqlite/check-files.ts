import { constants, lstatSync, type Stats } from 'node:fs'
import { access, chmod, lstat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errnoOf, ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { ensurePrivateDirectory, ownUid } from '../../../lib/util/posix.ts'

/** What SQLite puts beside a database. */
const companions = ['-wal', '-shm', '-journal'] as const

/**
 * Makes the folder of `file` private to this user and sees that what lies in it is ours to use.
 * Returns whether the file exists. Throws `registry_dir_unsafe` for a symlink, something else
 * than a file or another owner, `storage_failed` for what cannot be written or lost its main file.
 *
 * By names, not through a descriptor: closing one on a database drops the locks that this process
 * holds on it (POSIX). No other user can exchange what is in the folder.
 */
export async function checkFiles(file: string, log: Logger): Promise<boolean> {
  await openDataFolder(dirname(file), log)
  const exists = await checkFile(file, log)
  for (const suffix of companions) {
    const found = await checkFile(file + suffix, log)
    if (exists || !found) continue
    // Another process may have created the database meanwhile.
    if (await checkFile(file, log)) return checkFiles(file, log)
    const hint = `put ${file} back, or move ${file + suffix} away to restore a backup or begin anew`
    throw new ServiceError('storage_failed', `${file} is gone, but ${file + suffix} is there`, {
      hint,
    })
  }
  return exists
}

/** Makes the folder where there is none. Throws `registry_dir_unsafe`, `storage_failed`. */
export async function openDataFolder(path: string, log: Logger): Promise<void> {
  try {
    await ensurePrivateDirectory(path, log)
    await access(path, constants.W_OK | constants.X_OK)
  } catch (error) {
    const hint = 'name another folder with --data-dir'
    if (error instanceof ServiceError) {
      const advice = error.hint === undefined ? hint : `${hint}, or ${error.hint}`
      throw new ServiceError(error.code, error.message, { cause: error, hint: advice })
    }
    const reason = errnoOf(error) ?? 'unknown error'
    const message = `the data folder ${path} cannot be made or written (${reason})`
    throw new ServiceError('storage_failed', message, { cause: error, hint })
  }
}

/** False when there is no file, also when SQLite in another process removes it meanwhile. */
async function checkFile(path: string, log: Logger): Promise<boolean> {
  try {
    return await checkPresentFile(path, log)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    throw error instanceof ServiceError ? error : unusable(path, error)
  }
}

/** Throws the error of the file system for what cannot be looked at or accessed. */
async function checkPresentFile(path: string, log: Logger): Promise<true> {
  const found = await lstat(path)
  const uid = ownUid()
  const problem = describeProblem(found, uid)
  if (problem !== null) {
    const hint = 'move it away, or name another folder with --data-dir'
    throw new ServiceError('registry_dir_unsafe', `${path} ${problem}`, { hint })
  }
  if (uid !== null && (found.mode & 0o077) !== 0) {
    await chmod(path, 0o600)
    log.warn({ path }, 'other users could open the file by its mode; it is 0600 now')
  }
  await access(path, constants.R_OK | constants.W_OK)
  return true
}

function describeProblem(found: Stats, uid: number | null): string | null {
  if (found.isSymbolicLink()) return 'is a symbolic link'
  if (!found.isFile()) return 'is not a regular file'
  if (uid !== null && found.uid !== uid) return `belongs to another user (uid ${found.uid})`
  return null
}

function unusable(path: string, error: unknown): ServiceError {
  const reason = errnoOf(error) ?? 'unknown error'
  const hint = 'give this user the right to read and write the file'
  return new ServiceError('storage_failed', `${path} cannot be read and written (${reason})`, {
    cause: error,
    hint,
  })
}

/**
 * The database, its write-ahead log and the index of that: a change is lost without any of them.
 */
const suffixes = ['', '-wal', '-shm'] as const

/** `data.reason` of the errors that `watchFiles` throws. */
export const databaseReplaced = 'database_replaced'
export const keysRemoved = 'keys_removed'

interface WatchedFiles {
  readonly database: string
  /** Made after the database, and replaced by each rotation: only its absence is an error. */
  readonly keys?: string
  readonly lock?: string
}

/**
 * Remembers device and inode of the files of an open database and of its lock. The returned check
 * throws `storage_failed` once a name leads to another file or to none, or the key file is gone:
 * what is written then, a login included, is void after the next start. Logs when that begins and
 * ends.
 */
export function watchFiles({ database, keys, lock }: WatchedFiles, log: Logger): () => void {
  const paths = suffixes.map(suffix => database + suffix).concat(lock ?? [])
  const opened = paths.map(identityOf)
  const hasKeys = () => keys !== undefined && identityOf(keys) !== null
  let hadKeys = hasKeys()
  let lost: string | null = null

  function findLost(): { path: string; reason: string } | null {
    const path = paths.find((watched, index) => identityOf(watched) !== opened[index])
    if (path !== undefined) return { path, reason: databaseReplaced }
    const isThere = hasKeys()
    if (hadKeys && !isThere) return { path: keys ?? '', reason: keysRemoved }
    hadKeys = isThere
    return null
  }

  return () => {
    const found = findLost()
    if (found === null) {
      if (lost !== null) log.info({ path: lost }, 'the file is back; changes are accepted again')
      lost = null
      return
    }
    const { path, reason } = found
    const message = `${path} was deleted or replaced while the server was running`
    if (lost !== path) log.error({ path }, `${message}; changes are refused`)
    lost = path
    throw new ServiceError('storage_failed', message, {
      hint: 'stop the server, put the files back or restore a backup, and start it again',
      data: { reason },
    })
  }
}

/** By name: closing a descriptor of a database drops the locks that this process holds (POSIX). */
function identityOf(path: string): string | null {
  const found = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? null : `${found.dev}:${found.ino}`
}
