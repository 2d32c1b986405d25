import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { ensurePrivateFolder } from '../config/private-file.ts'
import { errnoOf, ServiceError } from '../util/errors.ts'

export { selectStateDirectory } from '../config/paths.ts'

interface RegistryDir {
  readonly path: string
  /** Records and tokens of the running instances. */
  readonly instances: string
}

const hint = 'name another folder with --registry-dir'

/**
 * Makes the state directory and `instances/` in it, private to this user. Throws
 * `registry_dir_unsafe` when others own it or can enter it, `storage_failed` when it cannot be
 * made or written.
 */
export async function openStateDirectory(path: string): Promise<RegistryDir> {
  const instances = join(path, 'instances')
  for (const folder of [path, instances]) await openFolder(folder)
  return { path, instances }
}

async function openFolder(path: string): Promise<void> {
  try {
    await ensurePrivateFolder(path)
    await access(path, constants.W_OK | constants.X_OK)
  } catch (error) {
    if (error instanceof ServiceError) {
      const advice = error.hint === undefined ? hint : `${hint}, or ${error.hint}`
      throw new ServiceError(error.code, error.message, { cause: error, hint: advice })
    }
    const reason = errnoOf(error) ?? 'unknown error'
    const message = `the state directory ${path} cannot be made or written (${reason})`
    throw new ServiceError('storage_failed', message, { cause: error, hint })
  }
}
