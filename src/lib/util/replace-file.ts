import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import * as fs from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
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

/**
 * Writes a file whole or not at all: readers, also after a crash, see the old content or the new.
 * `exclusive` keeps an existing file, and returns false then; where the file system has no hard links,
 * readers may see a part of the new one. Errors of the file system pass through.
 */
export async function replaceFile(
  path: string,
  data: FileContent,
  { exclusive = false, ...options }: NewFileOptions & { readonly exclusive?: boolean } = {},
): Promise<boolean> {
  // In the same folder, because a rename cannot cross file systems; within 255 bytes.
  const name = `${basename(path).slice(0, 60)}.${randomBytes(8).toString('hex')}.tmp`
  const temporary = join(dirname(path), name)
  try {
    await writeNewFile(temporary, data, options)
    if (!exclusive) await renameFile(temporary, path)
    else if (!(await renameExclusive(temporary, path))) return false
    if (options.durable !== false) await fsyncDirectory(dirname(path))
    return true
  } finally {
    await fs.rm(temporary, { force: true }).catch(() => {})
  }
}

/**
 * Creates a file, of which a part is left when that fails. Rejects with `EEXIST` for anything that is
 * there, also for a symbolic link.
 */
export async function writeNewFile(
  path: string,
  data: FileContent,
  { access = 'private', durable = true }: NewFileOptions = {},
): Promise<void> {
  // Closed to others until it has the mode of the other file.
  await using file = await fs.open(path, 'wx', access === 'umask' ? 0o666 : 0o600)
  if (typeof access === 'object' && ownUid() !== null) {
    const { uid, gid } = await file.stat()
    if (uid !== access.uid || gid !== access.gid) await file.chown(access.uid, access.gid)
    await file.chmod(access.mode & 0o777)
  }
  await file.writeFile(data)
  if (durable) await file.sync()
}

const heldCodes = ['EPERM', 'EBUSY', 'EACCES']
const maxHeldMs = 2000

/**
 * Renames a file, over an existing one, too. Windows refuses that while another program has one of
 * them open, such as a reader or a virus scanner: it is tried again for two seconds.
 */
export async function renameFile(
  from: string,
  to: string,
  { rename = fs.rename, platform = process.platform } = {},
): Promise<void> {
  const deadlineMs = performance.now() + maxHeldMs
  for (let pauseMs = 2; ; pauseMs = Math.min(2 * pauseMs, 50)) {
    try {
      return await rename(from, to)
    } catch (error) {
      const isHeld = platform === 'win32' && heldCodes.includes(errnoOf(error) ?? '')
      if (!isHeld || performance.now() >= deadlineMs) throw error
    }
    await sleep(pauseMs)
  }
}

/** Gives a file another name. False when that is taken. */
async function renameExclusive(from: string, to: string): Promise<boolean> {
  try {
    // Unlike a rename, a link replaces nothing. Some file systems have no links.
    await fs.link(from, to).catch(error => {
      if (errnoOf(error) === 'EEXIST') throw error
      return fs.copyFile(from, to, fs.constants.COPYFILE_EXCL)
    })
    return true
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    throw error
  }
}
