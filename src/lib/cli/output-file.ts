import type { Stats } from 'node:fs'
import { lstat, realpath, stat, writeFile } from 'node:fs/promises'
import { errnoOf, messageOf, ServiceError } from '../util/errors.ts'
import { isOwn } from '../util/posix.ts'
import { type FileContent, replaceFile } from '../util/replace-file.ts'
import { numberedName } from './file-name.ts'

/**
 * Writes a file atomically: a failure leaves the old content. An existing file is replaced only
 * with `force`. A pipe or a device is written to directly. Links and pipes of other users are not
 * used: in a shared folder they would lead the bytes, or the replacement, elsewhere.
 *
 * Throws `usage_invalid` for a folder, `file_exists`, or `storage_failed`.
 */
export async function writeOutputFile(
  file: string,
  bytes: FileContent,
  { force }: { force: boolean },
): Promise<void> {
  try {
    const found = await kindOf(file)
    if (found === 'folder' || /[/\\]$/.test(file)) throw isFolder(file)
    if (found === 'special') return await writeFile(file, bytes)
    if (found === 'file' && !force) throw fileExists(file)
    // Keeps a symbolic link and replaces its target.
    const target = found === 'file' ? await realpath(file) : file
    if (!(await replaceFile(target, bytes, { access: 'umask', exclusive: !force }))) {
      throw fileExists(target)
    }
  } catch (error) {
    throw error instanceof ServiceError ? error : explain(file, error)
  }
}

async function kindOf(file: string): Promise<'nothing' | 'file' | 'folder' | 'special'> {
  try {
    const found = await lstat(file)
    const stats = found.isSymbolicLink() ? await stat(file) : found
    if (found.isSymbolicLink() && !isTrusted(found)) throw isForeign(file, 'a symbolic link')
    if (stats.isFile()) return 'file'
    if (stats.isDirectory()) return 'folder'
    if (!isTrusted(stats)) throw isForeign(file, 'a pipe or device')
    return 'special'
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return 'nothing'
    throw error
  }
}

/** Of this user or of root, as /dev/stdout and what is behind it. */
function isTrusted(found: Stats): boolean {
  return isOwn(found) || found.uid === 0
}

function isForeign(file: string, what: string): ServiceError {
  return new ServiceError('file_exists', `${file} is ${what} of another user`, {
    hint: 'choose another --out',
  })
}

function fileExists(file: string): ServiceError {
  return new ServiceError('file_exists', `${file} already exists`, {
    hint: 'choose another --out, or add --force to replace it',
  })
}

function isFolder(file: string): ServiceError {
  return new ServiceError('usage_invalid', `--out ${file} is a folder`, { hint: 'add a file name' })
}

const hints: Readonly<Record<string, string>> = {
  ENOENT: 'the folder does not exist: create it, or choose another --out',
  ENOTDIR: 'a part of the path is not a folder: choose another --out',
  ENOSPC: 'the disk is full: choose another --out',
}

function explain(file: string, error: unknown): ServiceError {
  const code = errnoOf(error)
  const why = code ?? messageOf(error)
  return new ServiceError('storage_failed', `cannot write ${file} (${why})`, {
    cause: error,
    hint: hints[code ?? ''] ?? 'choose a folder you may write in with --out',
  })
}

const maxNumber = 1000

/** This name or the next free numbered one. */
export async function freeName(name: string): Promise<string> {
  for (let number = 1; number <= maxNumber; number++) {
    const file = numberedName(name, number)
    if ((await lstat(file).catch(() => null)) === null) return file
  }
  throw new ServiceError('file_exists', `${name} and ${maxNumber - 1} numbered names exist`, {
    hint: 'choose a name with --out',
  })
}
