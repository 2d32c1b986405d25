import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readlink, unlink } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { errnoOf, readProblem, ServiceError } from '../../util/errors.ts'
import { makeFolders, noFollow, noWait } from '../../util/posix.ts'
import { replaceFile, writeNewFile } from '../../util/replace-file.ts'
import type { ClientFile } from './client.ts'

/** A settings file as it was read. */
interface FoundSettings {
  readonly bytes: Buffer
  readonly stats: Stats
}

const maxSettingsBytes = 16 * 1024 * 1024

/** Null when there is none. Throws `config_invalid` for what must not be read as settings. */
export async function readSettingsFile(file: ClientFile): Promise<FoundSettings | null> {
  await refuseLinks(file)
  const { path } = file
  let handle: FileHandle
  try {
    handle = await open(path, constants.O_RDONLY | noFollow | noWait)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null
    throw refused(path, `cannot be read: ${readProblem(error)}`)
  }
  try {
    const stats = await handle.stat()
    if (!stats.isFile()) throw refused(path, 'is not a regular file')
    if (stats.size > maxSettingsBytes) {
      throw refused(path, `is larger than ${maxSettingsBytes} bytes`)
    }
    return { bytes: await handle.readFile(), stats }
  } finally {
    await handle.close()
  }
}

interface Replacement {
  readonly text: string
  /** What is there now; what it is replaced for. */
  readonly found: FoundSettings | null
  /** Name of the copy of what was there. */
  readonly backup: string
  /** A new file is for its owner alone. */
  readonly isPrivate: boolean
}

/**
 * Puts the new text in the place of the old one, whole or not at all, with its owner and mode, and
 * a copy of the old one beside it. False when the file is not any more what was read: nothing was
 * changed then. Throws `storage_failed`, `storage_full` or `config_invalid`.
 */
export async function replaceSettingsFile(file: ClientFile, parts: Replacement): Promise<boolean> {
  const { text, found, backup, isPrivate } = parts
  const { path } = file
  let copied = false
  let confirmed = false
  try {
    if (found === null) await makeParents(file, isPrivate)
    else {
      refuseReadOnly(path, found.stats)
      await writeNewFile(backup, found.bytes, { access: found.stats })
      copied = true
    }
    return await replaceFile(path, text, {
      access: found?.stats ?? (isPrivate ? 'private' : 'umask'),
      exclusive: found === null,
      confirm: async () => (confirmed = isSame(found, await readSettingsFile(file))),
    })
  } catch (error) {
    throw error instanceof ServiceError ? error : unwritable(path, error)
  } finally {
    if (copied && !confirmed) await unlink(backup).catch(() => {})
  }
}

function isSame(before: FoundSettings | null, now: FoundSettings | null): boolean {
  if (before === null || now === null) return before === now
  return before.stats.ino === now.stats.ino && before.bytes.equals(now.bytes)
}

/** Whoever took the right to write away wants the file to stay; a rename would not mind. */
function refuseReadOnly(path: string, { mode }: Stats): void {
  if ((mode & 0o200) !== 0) return
  throw new ServiceError('storage_failed', `${path} is read-only`, {
    hint: 'make it writable, or paste the entry yourself',
  })
}

async function makeParents({ path, root }: ClientFile, isPrivate: boolean): Promise<void> {
  await makeFolders(root)
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

/** Neither the file nor a folder between it and the root: it would lead to somebody else's file. */
async function refuseLinks({ path, root }: ClientFile): Promise<void> {
  const names = relative(root, path).split(sep)
  let at = root
  for (const name of names) {
    at = join(at, name)
    const found = await lstat(at).catch(() => null)
    if (found === null) return
    if (!found.isSymbolicLink()) continue
    const target = await readlink(at).catch(() => 'somewhere else')
    throw refused(at, `is a symbolic link to ${target}`)
  }
}

function refused(path: string, what: string): ServiceError {
  return new ServiceError('config_invalid', `${path} ${what}`, {
    hint: 'paste the entry yourself where it belongs',
  })
}

function unwritable(path: string, error: unknown): ServiceError {
  const code = errnoOf(error) ?? 'unknown error'
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new ServiceError('storage_full', `there is no room to write ${path} (${code})`, {
      cause: error,
      hint: 'free some space, then run the command again',
    })
  }
  return new ServiceError('storage_failed', `${path} cannot be written (${code})`, {
    cause: error,
    hint: `make ${dirname(path)} writable for you, or paste the entry yourself`,
  })
}
