import { lstat, realpath, stat, writeFile } from 'node:fs/promises'
import { join, parse } from 'node:path'
import { errnoOf, messageOf, ServiceError, usage } from '../util/errors.ts'
import { type FileContent, replaceFile } from '../util/replace-file.ts'

const hints: Record<string, string> = {
  ENOENT: 'the folder does not exist: create it, or choose another --out',
  ENOTDIR: 'a part of the path is not a folder: choose another --out',
  ENOSPC: 'the disk is full: choose another --out',
}

/**
 * Writes a file atomically: a failure leaves the old content. An existing file is replaced only
 * with `force`, a pipe or a device is written to directly. Throws `usage_invalid` for a folder,
 * `file_exists` or `storage_failed`.
 */
export async function writeOutputFile(
  file: string,
  bytes: FileContent,
  { force }: { force: boolean },
): Promise<void> {
  try {
    const found = await stat(file).catch(() => null)
    if (found?.isDirectory() || /[/\\]$/.test(file)) {
      throw usage(`--out ${file} is a folder`, 'add a file name')
    }
    if (found !== null && !found.isFile()) return await writeFile(file, bytes)
    // Keeps a symbolic link and replaces its target.
    const target = found !== null && force ? await realpath(file) : file
    if (await replaceFile(target, bytes, { access: 'umask', exclusive: !force })) return
  } catch (error) {
    if (error instanceof ServiceError) throw error
    const code = errnoOf(error) ?? ''
    const message = `cannot write ${file} (${code || messageOf(error)})`
    const hint = hints[code] ?? 'choose a folder you may write in with --out'
    throw new ServiceError('storage_failed', message, { cause: error, hint })
  }
  throw new ServiceError('file_exists', `${file} already exists`, {
    hint: 'choose another --out, or add --force to replace it',
  })
}

/** This name or the next free numbered one: `a.png`, then `a-2.png`, `a-3.png`, … */
export async function freeName(path: string): Promise<string> {
  const { dir, name, ext } = parse(path)
  for (let number = 1; ; number++) {
    const file = number === 1 ? path : join(dir, `${name}-${number}${ext}`)
    if ((await lstat(file).catch(() => null)) === null) return file
  }
}
