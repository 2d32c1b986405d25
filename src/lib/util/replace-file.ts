import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { link, lstat, open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { errnoOf } from './errors.ts'
import { fsyncDirectory, ownUid } from './posix.ts'

/** What a file gets: at once, or as it arrives. */
export type FileContent = string | Uint8Array | AsyncIterable<Uint8Array>

interface NewFileOptions {
  /** `private` (the default): 0600. `umask`: as any new file. A file: its owner and mode. */
  readonly access?: 'private' | 'umask' | Stats
  /** False: the content survives the process, not a crash of the system. */
  readonly durable?: boolean
}

interface ReplaceOptions extends NewFileOptions {
  /** Leaves an existing file as it is. */
  readonly exclusive?: boolean
  /** Called when the new content is complete. False: the old file stays. */
  readonly confirm?: () => Promise<boolean>
}

/**
 * Writes a file whole or not at all: readers, also after a crash, see the old content or the new.
 * False when `exclusive` or `confirm` kept the old file. Errors of the file system pass through.
 */
export async function replaceFile(
  path: string,
  data: FileContent,
  options: ReplaceOptions = {},
): Promise<boolean> {
  const { exclusive = false, confirm, durable = true } = options
  const temporary = temporaryPath(path)
  try {
    await writeNewFile(temporary, data, options)
    if (confirm !== undefined && !(await confirm())) return false
    if (!exclusive) await rename(temporary, path)
    else if (!(await giveName(temporary, path))) return false
    if (durable) await fsyncDirectory(dirname(path))
    return true
  } finally {
    await rm(temporary, { force: true }).catch(() => {})
  }
}

/** A name in the folder of `path`, because a rename cannot cross file systems. */
function temporaryPath(path: string): string {
  // Within the limit of 255 bytes, also for a name that reaches it.
  const name = basename(path).slice(0, 60)
  return join(dirname(path), `${name}.${randomBytes(8).toString('hex')}.tmp`)
}

/** Creates a file. Rejects with `EEXIST` for anything that is there, also for a symlink. */
export async function writeNewFile(
  path: string,
  data: FileContent,
  { access = 'private', durable = true }: NewFileOptions = {},
): Promise<void> {
  // Closed to others until it has the mode of the other file.
  const handle = await open(path, 'wx', access === 'umask' ? 0o666 : 0o600)
  try {
    if (access !== 'umask' && ownUid() !== null) {
      if (access !== 'private') {
        const made = await handle.stat()
        const isOther = made.uid !== access.uid || made.gid !== access.gid
        if (isOther) await handle.chown(access.uid, access.gid)
      }
      // The umask may have taken even the owner's bits.
      await handle.chmod(access === 'private' ? 0o600 : access.mode & 0o777)
    }
    await handle.writeFile(data)
    if (durable) await handle.sync()
  } catch (error) {
    await rm(path, { force: true }).catch(() => {})
    throw error
  } finally {
    await handle.close()
  }
}

/** Gives a complete file another name in its folder. False when that name is taken. */
export async function giveName(from: string, to: string): Promise<boolean> {
  try {
    // Unlike a rename, a link replaces nothing.
    await link(from, to)
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    // The file system may have no links.
    if ((await lstat(to).catch(() => null)) !== null) return false
    await rename(from, to)
    return true
  }
  await rm(from, { force: true })
  return true
}
