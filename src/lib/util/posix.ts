import { constants, type Stats } from 'node:fs'
import { lstat, mkdir, open, readdir } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname, resolve } from 'node:path'
import { errnoOf, ServiceError } from './errors.ts'
import { type Logger, silentLogger } from './logger.ts'

/**
 * What only POSIX systems have: owners, modes, opening without following a symlink, syncing a
 * folder. Where it is absent (Windows) the checks are skipped, so that every caller is the same.
 */

/** Flag for `open`: fail instead of following a symlink. 0 where the system has no such flag. */
export const noFollow: number = constants.O_NOFOLLOW ?? 0

/** Flag for `open`: do not wait for the other end of a pipe that lies in a file's place. */
export const noWait: number = constants.O_NONBLOCK ?? 0

/** The user this process runs as, or null where the system has no such notion (Windows). */
export function ownUid(): number | null {
  return process.geteuid?.() ?? null
}

/** The user name; the uid where the system has no name for it, as in `docker run -u 1234`. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${ownUid()}`
  }
}

/** Belongs to this user; where there are no owners (Windows), always. */
export function isOwn(found: Stats): boolean {
  const uid = ownUid()
  return uid === null || found.uid === uid
}

/** A folder of this user, in which no other user can put or replace anything. */
export function isOwnFolder(found: Stats): boolean {
  const uid = ownUid()
  if (!found.isDirectory()) return false
  return uid === null || (found.uid === uid && (found.mode & 0o022) === 0)
}

/**
 * Makes sure that `path` is a folder of this user that no other user can enter (0700). Throws
 * `registry_dir_unsafe` for a symlink, something else than a folder, another owner, or a folder
 * that others can enter and that already holds something: closing a folder in use is its owner's
 * decision. Errors of the file system pass through. Where there are no owners and modes
 * (Windows) only the kind of file is checked, and one line of `log` says so.
 */
export async function ensurePrivateDirectory(
  folder: string,
  log: Logger = silentLogger,
): Promise<void> {
  // Without a trailing slash, which would make the checks below follow a symlink.
  const path = resolve(folder)
  await makeFolders(path)
  const found = await lstat(path)
  const elsewhere = 'remove it or choose another folder'
  if (found.isSymbolicLink()) throw unsafe(path, 'is a symbolic link', elsewhere)
  if (!found.isDirectory()) throw unsafe(path, 'is not a folder', elsewhere)
  const uid = ownUid()
  if (uid === null) {
    log.info({ path }, 'owner and mode of the folder are not checked on this system')
    return
  }
  if (found.uid !== uid) {
    const hint = 'choose another folder, or have its owner remove it'
    throw unsafe(path, `belongs to another user (uid ${found.uid})`, hint)
  }
  if ((found.mode & 0o077) === 0) return
  if ((await readdir(path)).length > 0) {
    throw unsafe(path, `is open to other users (mode ${octal(found.mode)})`, `chmod 700 ${path}`)
  }
  await tighten(path)
}

/**
 * With those above it. Not by `recursive`: where the system answers ENOENT whatever exists, as
 * below /proc, Node tries again for ever.
 */
export async function makeFolders(path: string): Promise<void> {
  const make = () =>
    mkdir(path, { mode: 0o700 }).catch(error => {
      // Made meanwhile, or no folder: what is there is looked at by the caller.
      if (errnoOf(error) !== 'EEXIST') throw error
    })
  try {
    await make()
  } catch (error) {
    const parent = dirname(path)
    if (errnoOf(error) !== 'ENOENT' || parent === path) throw error
    await makeFolders(parent)
    await make()
  }
}

/** Makes names that were created, renamed or removed in `path` durable. */
export async function fsyncDirectory(path: string): Promise<void> {
  // Windows cannot open a folder as a file, and syncs its entries with the file.
  if (process.platform === 'win32') return
  const folder = await open(path, constants.O_RDONLY)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Through a handle that does not follow a symlink, so that no other folder is hit by a swap. */
async function tighten(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | noFollow)
  try {
    await folder.chmod(0o700)
  } finally {
    await folder.close()
  }
}

function unsafe(path: string, what: string, hint: string): ServiceError {
  return new ServiceError('registry_dir_unsafe', `the folder ${path} ${what}`, { hint })
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0')
}
