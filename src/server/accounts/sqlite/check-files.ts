import { constants, type Stats } from 'node:fs'
import { access, chmod, lstat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errnoOf, ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { ensurePrivateFolder } from '../../../lib/config/private-file.ts'
import { ownUid } from '../../../lib/util/posix.ts'

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
  await openDataFolder(dirname(file))
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
export async function openDataFolder(path: string, _log?: Logger): Promise<void> {
  try {
    await ensurePrivateFolder(path)
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
