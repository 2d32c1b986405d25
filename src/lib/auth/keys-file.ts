import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, open } from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf, isMissing, readProblem } from '../util/errno.ts'
import { ServiceError } from '../util/errors.ts'
import { noFollow, noWait, ownUid } from '../util/posix.ts'
import { type NamedKey, maxKeysFileBytes, parseKeys } from './keys-text.ts'

/** Where older versions kept the named keys of the servers of one registry folder. */
export function keysFileIn(registryDir: string): string {
  return join(registryDir, 'keys.json')
}

/**
 * The keys of the file, or null where there is none. Throws `config_invalid` for a symlink, a file
 * of somebody else or open to others (whoever can write into it lets himself in), and for one that
 * is damaged: that is never the same as "no keys".
 */
export async function readKeysFile(path: string): Promise<readonly NamedKey[] | null> {
  const file = await openFile(path)
  if (file === null) return null
  try {
    const found = await file.stat()
    const problem = describeUnsafe(found)
    if (problem !== null) throw refused(path, problem.what, problem.hint)
    const parsed = parseKeys(await readText(file, found.size))
    if (parsed.ok) return parsed.value
    throw refused(
      path,
      parsed.failure,
      'correct it; or move it away and make new keys with service-cli keys create',
    )
  } finally {
    await file.close()
  }
}

async function openFile(path: string): Promise<FileHandle | null> {
  try {
    // Where the system has no O_NOFOLLOW, the path is all there is to look at.
    if (noFollow === 0 && (await lstat(path)).isSymbolicLink()) throw isLink(path)
    return await open(path, constants.O_RDONLY | noFollow | noWait)
  } catch (error) {
    // Also with HOME=/dev/null, where no key was ever made.
    if (isMissing(error)) return null
    if (error instanceof ServiceError) throw error
    const code = errnoOf(error)
    if (code === 'ELOOP' || code === 'EMLINK') throw isLink(path)
    throw refused(path, `cannot be read: ${readProblem(error)}`, `chmod 600 ${path}`)
  }
}

/** Not more than it had when it was looked at. */
async function readText(file: FileHandle, size: number): Promise<string> {
  const buffer = Buffer.alloc(size)
  let length = 0
  while (length < size) {
    const { bytesRead } = await file.read(buffer, length, size - length, length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return buffer.toString('utf8', 0, length)
}

function describeUnsafe(found: Stats): { what: string; hint: string } | null {
  if (!found.isFile()) return { what: 'is not a regular file', hint: 'remove it' }
  if (found.size > maxKeysFileBytes) {
    return { what: `is larger than ${maxKeysFileBytes} bytes`, hint: 'look at it, and remove it' }
  }
  const uid = ownUid()
  if (uid === null) return null
  if (found.uid !== uid) {
    return { what: `belongs to another user (uid ${found.uid})`, hint: 'have its owner remove it' }
  }
  if ((found.mode & 0o077) === 0) return null
  const mode = (found.mode & 0o777).toString(8)
  return {
    what: `is open to other users (mode ${mode})`,
    hint: 'look at the keys in it, then close it with chmod 600',
  }
}

function isLink(path: string): ServiceError {
  return refused(path, 'is a symbolic link', 'put the file itself there')
}

function refused(path: string, what: string, hint: string): ServiceError {
  return new ServiceError('config_invalid', `${path} ${what}`, { hint })
}
