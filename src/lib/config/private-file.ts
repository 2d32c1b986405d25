import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, readdir, readlink, unlink } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { errnoOf, isDiskFull, readProblem, ServiceError, unusableFile } from '../util/errors.ts'
import { makeFolders, noFollow, noWait, ownUid } from '../util/posix.ts'
import { replaceFile } from '../util/replace-file.ts'

/**
 * One file that only its owner may read (0600), in a folder that only its owner may enter (0700).
 */
export interface PrivateFile {
  readonly path: string
  /** Told once for each thing whose mode was wider than that and is not any more. */
  readonly onTightened: (path: string, mode: string) => void
}

const maxFileBytes = 1024 * 1024

/**
 * The text of the file, or null when there is none. What is read was checked on the open file, so
 * that nothing can be put in its place in between. Throws `config_invalid` for a symlink (naming
 * both paths), something else than a file, another owner, or a size that is no configuration.
 */
export async function readPrivateFile(file: PrivateFile): Promise<string | null> {
  const { path } = file
  if (!(await checkFolder(file))) return null
  let handle: FileHandle
  try {
    handle = await open(path, constants.O_RDONLY | noFollow | noWait)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null
    await refuseLink(path)
    throw unreadable(path, error)
  }
  try {
    // Where the system has no O_NOFOLLOW, the path is all there is to look at.
    if (noFollow === 0) await refuseLink(path)
    const found = await checkFile(path, handle)
    if (isWide(found)) {
      await handle.chmod(0o600)
      file.onTightened(path, octal(found))
    }
    return await handle.readFile('utf8')
  } catch (error) {
    throw error instanceof ServiceError ? error : unreadable(path, error)
  } finally {
    await handle.close()
  }
}

/** Returns the text of a file of the user or of root; follows links. Null for a missing file. */
export async function readOwnFile(path: string): Promise<string | null> {
  let handle: FileHandle
  try {
    handle = await open(path, constants.O_RDONLY | noWait)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null
    throw unreadable(path, error)
  }
  try {
    await checkFile(path, handle, { allowRoot: true })
    return await handle.readFile('utf8')
  } catch (error) {
    throw error instanceof ServiceError ? error : unreadable(path, error)
  } finally {
    await handle.close()
  }
}

async function checkFile(
  path: string,
  handle: FileHandle,
  { allowRoot = false } = {},
): Promise<Stats> {
  const found = await handle.stat()
  if (!found.isFile()) throw unusableFile(path, 'is not a regular file', 'remove it')
  if (!(allowRoot && found.uid === 0)) refuseForeign(path, found)
  if (found.size > maxFileBytes) {
    throw unusableFile(path, `is larger than ${maxFileBytes} bytes`, `look at it and remove it`)
  }
  return found
}

/**
 * Replaces the file: a reader, also after a crash at any moment, finds the old text or the
 * new one. Call it under the lock: files of writers that died are removed. Throws as
 * `readPrivateFile`, `storage_full`, `storage_failed`; then the old file stays.
 */
export async function writePrivateFile(file: PrivateFile, text: string): Promise<void> {
  const { path } = file
  await makePrivateFolder(file)
  await removeLeftovers(path)
  const confirm = async () => {
    await refuseLink(path)
    return true
  }
  try {
    await replaceFile(path, text, { confirm })
  } catch (error) {
    throw error instanceof ServiceError ? error : unwritable(path, error)
  }
}

/** The folder, made when it is missing, closed to others when it was open. */
export async function makePrivateFolder(file: PrivateFile): Promise<void> {
  try {
    await makeFolders(dirname(resolve(file.path)))
  } catch (error) {
    throw unwritable(file.path, error)
  }
  await checkFolder(file)
}

/** Only the holder of the lock writes, so no other process uses these. */
async function removeLeftovers(path: string): Promise<void> {
  const folder = dirname(path)
  const names = await readdir(folder).catch(() => [])
  const left = names.filter(name => name.startsWith(`${basename(path)}.`) && name.endsWith('.tmp'))
  for (const name of left) await unlink(join(folder, name)).catch(() => {})
}

/** False when there is no folder yet. */
async function checkFolder(file: PrivateFile): Promise<boolean> {
  const path = dirname(resolve(file.path))
  const found = await lstat(path).catch(error => {
    if (errnoOf(error) === 'ENOENT') return null
    throw unreadable(path, error)
  })
  if (found === null) return false
  if (found.isSymbolicLink()) await refuseLink(path)
  if (!found.isDirectory()) throw unusableFile(path, 'is not a folder', 'remove it')
  refuseForeign(path, found)
  if (!isWide(found)) return true
  // Not by the path, behind which something else may stand by now.
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | noFollow)
  try {
    await handle.chmod(0o700)
  } finally {
    await handle.close()
  }
  file.onTightened(path, octal(found))
  return true
}

async function refuseLink(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null)
  if (found === null || !found.isSymbolicLink()) return
  const target = await readlink(path).catch(() => 'somewhere else')
  throw unusableFile(
    path,
    `is a symbolic link to ${target}`,
    `put the file itself there, or name its folder with XDG_CONFIG_HOME`,
  )
}

function refuseForeign(path: string, found: Stats): void {
  const uid = ownUid()
  if (uid === null || found.uid === uid) return
  throw unusableFile(
    path,
    `belongs to another user (uid ${found.uid})`,
    'have its owner remove it, or name a folder of yours with XDG_CONFIG_HOME',
  )
}

function isWide(found: Stats): boolean {
  return ownUid() !== null && (found.mode & 0o077) !== 0
}

function octal(found: Stats): string {
  return (found.mode & 0o777).toString(8).padStart(4, '0')
}

function unreadable(path: string, error: unknown): ServiceError {
  return unusableFile(
    path,
    `cannot be read: ${readProblem(error)}`,
    'make it readable for you, or name another folder with XDG_CONFIG_HOME',
  )
}

function unwritable(path: string, error: unknown): ServiceError {
  const code = errnoOf(error) ?? 'unknown error'
  if (isDiskFull(error)) {
    return new ServiceError('storage_full', `there is no room to write ${path} (${code})`, {
      hint: 'free some space, then run the command again',
    })
  }
  return new ServiceError('storage_failed', `${path} cannot be written (${code})`, {
    hint: `make ${dirname(path)} writable for you`,
  })
}
