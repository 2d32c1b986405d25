import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readlink, unlink } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { errnoOf, isDiskFull, readProblem, ServiceError, unusableFile } from '../../util/errors.ts'
import { noFollow, noWait } from '../../util/posix.ts'
import { replaceFile, writeNewFile } from '../../util/replace-file.ts'
import type { ClientFile } from './client.ts'

/** What helps when this program cannot change the file. */
export const pasteHint = 'paste the entry yourself'

/** The content of a settings file. */
interface FoundSettings {
  readonly bytes: Buffer
  readonly stats: Stats
}

const maxSettingsBytes = 16 * 1024 * 1024

/** Null when the file does not exist. Throws `config_invalid` for a symlink or unreadable file. */
export async function readSettingsFile(file: ClientFile): Promise<FoundSettings | null> {
  await refuseLinks(file)
  const { path } = file
  let handle: FileHandle
  try {
    handle = await open(path, constants.O_RDONLY | noFollow | noWait)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null
    throw unusableFile(path, `cannot be read: ${readProblem(error)}`, pasteHint)
  }
  try {
    const stats = await handle.stat()
    if (!stats.isFile()) throw unusableFile(path, 'is not a regular file', pasteHint)
    if (stats.size > maxSettingsBytes) {
      throw unusableFile(path, `is larger than ${maxSettingsBytes} bytes`, pasteHint)
    }
    return { bytes: await handle.readFile(), stats }
  } finally {
    await handle.close()
  }
}

interface Replacement {
  readonly text: string
  /** The content that `text` replaces. */
  readonly found: FoundSettings | null
  /** The path for a copy of the old content. */
  readonly backup: string
  /** A new file gets mode 0600. */
  readonly isPrivate: boolean
}

/**
 * Replaces the file atomically, keeps owner and mode, and writes a backup. Returns false and
 * changes nothing when the file has changed since it was read. Throws `storage_failed`,
 * `storage_full` or `config_invalid`.
 */
export async function replaceSettingsFile(file: ClientFile, parts: Replacement): Promise<boolean> {
  const { text, found, backup, isPrivate } = parts
  const { path } = file
  let copied = false
  try {
    if (found === null) await makeParents(file, isPrivate)
    else {
      refuseReadOnly(path, found.stats)
      if (!isSame(found, await readSettingsFile(file))) return false
      await writeNewFile(backup, found.bytes, { access: found.stats })
      copied = true
    }
    return await replaceFile(path, text, {
      access: found?.stats ?? (isPrivate ? 'private' : 'umask'),
      exclusive: found === null,
    })
  } catch (error) {
    if (copied) await unlink(backup).catch(() => {})
    throw error instanceof ServiceError ? error : unwritable(path, error)
  }
}

function isSame(before: FoundSettings | null, now: FoundSettings | null): boolean {
  if (before === null || now === null) return before === now
  return before.stats.ino === now.stats.ino && before.bytes.equals(now.bytes)
}

/** Respects a read-only file, which a rename would replace. */
function refuseReadOnly(path: string, { mode }: Stats): void {
  if ((mode & 0o200) !== 0) return
  throw new ServiceError('storage_failed', `${path} is read-only`, {
    hint: 'make it writable, or paste the entry yourself',
  })
}

async function makeParents({ path, root }: ClientFile, isPrivate: boolean): Promise<void> {
  await mkdir(root, { recursive: true, mode: 0o700 })
  const names = relative(root, dirname(path))
    .split(sep)
    .filter(name => name !== '')
  let folder = root
  for (const name of names) {
    folder = join(folder, name)
    await mkdir(folder, { mode: isPrivate ? 0o700 : 0o777 }).catch(error => {
      if (errnoOf(error) !== 'EEXIST') throw error
    })
  }
}

/** Refuses symlinks below the root: they could lead to a file of another user. */
async function refuseLinks({ path, root }: ClientFile): Promise<void> {
  const names = relative(root, path).split(sep)
  let at = root
  for (const name of names) {
    at = join(at, name)
    const found = await lstat(at).catch(() => null)
    if (found === null) return
    if (!found.isSymbolicLink()) continue
    const target = await readlink(at).catch(() => 'somewhere else')
    throw unusableFile(at, `is a symbolic link to ${target}`, pasteHint)
  }
}

function unwritable(path: string, error: unknown): ServiceError {
  const code = errnoOf(error) ?? 'unknown error'
  if (isDiskFull(error)) {
    return new ServiceError('storage_full', `disk full: cannot write ${path} (${code})`, {
      cause: error,
      hint: 'free disk space, then run the command again',
    })
  }
  return new ServiceError('storage_failed', `cannot write ${path} (${code})`, {
    cause: error,
    hint: `make ${dirname(path)} writable for you, or paste the entry yourself`,
  })
}
