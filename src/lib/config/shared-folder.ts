import { mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errnoOf, isDiskFull, messageOf, ServiceError } from '../util/errors.ts'
import { isOwn, isOwnFolder } from '../util/posix.ts'
import { withFileLock } from './file-lock.ts'

const lockWaitMs = 10_000

/** The names in the folder; none when it does not exist. `what`: "the notes". */
export async function namesIn(folder: string, what: string): Promise<readonly string[]> {
  try {
    await assertOwnFolder(folder)
    return await readdir(folder)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return []
    throw storageError(`${what} in ${folder} cannot be read`, error)
  }
}

/**
 * Throws `storage_failed` for a folder in which another user could put a file: a note sets an agent
 * to work, and a pipe in the place of a file would hold up the server. Errors of `stat` pass through.
 */
export async function assertOwnFolder(folder: string): Promise<void> {
  const found = await stat(folder)
  if (isOwnFolder(found)) return
  const hint = isOwn(found)
    ? `chmod go-w ${folder}`
    : 'have it removed, or name a folder of yours with XDG_DATA_HOME'
  throw new ServiceError('storage_failed', `${folder} is not used: others can change it`, { hint })
}

/** The text of a file in the folder; empty when it was removed meanwhile. */
export async function textIn(path: string, what: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if (errnoOf(error) === 'ENOENT') return ''
    throw storageError(`${what} in ${path} cannot be read`, error)
  })
}

/** Changes a folder that several servers share, one at a time. `thing`: what it keeps, "note". */
export async function changeFolder<Value>(
  folder: string,
  thing: string,
  change: () => Promise<Value>,
): Promise<Value> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    // The lock is beside it, and SQLite acts on what another user could put beside the lock.
    for (const each of [dirname(folder), folder]) await assertOwnFolder(each)
    const done = await withFileLock(`${folder}.lock`, { waitMs: lockWaitMs }, change)
    if (done.ok) return done.value
  } catch (error) {
    throw storageError(`the ${thing} cannot be kept in ${folder}`, error)
  }
  throw new ServiceError('storage_failed', `the ${thing}s in ${folder} are locked for too long`)
}

function storageError(what: string, error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  const code = isDiskFull(error) ? 'storage_full' : 'storage_failed'
  return new ServiceError(code, `${what}: ${messageOf(error)}`, { cause: error })
}
