import { mkdir, readdir, readFile } from 'node:fs/promises'
import { errnoOf, isDiskFull, messageOf, ServiceError } from '../util/errors.ts'
import { withFileLock } from './file-lock.ts'

const lockWaitMs = 10_000

/** The names in the folder; none when it does not exist. `what`: "the notes". */
export async function namesIn(folder: string, what: string): Promise<readonly string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (errnoOf(error) === 'ENOENT') return []
    throw storageError(`${what} in ${folder} cannot be read`, error)
  })
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
    const done = await withFileLock(`${folder}.lock`, { waitMs: lockWaitMs }, change)
    if (done.ok) return done.value
  } catch (error) {
    throw error instanceof ServiceError
      ? error
      : storageError(`the ${thing} cannot be kept in ${folder}`, error)
  }
  throw new ServiceError('storage_failed', `the ${thing}s in ${folder} are locked for too long`)
}

function storageError(what: string, error: unknown): ServiceError {
  const code = isDiskFull(error) ? 'storage_full' : 'storage_failed'
  return new ServiceError(code, `${what}: ${messageOf(error)}`, { cause: error })
}
