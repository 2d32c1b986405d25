import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { ensurePrivateFolder, storageError } from '../config/private-file.ts'
import { ServiceError } from '../util/errors.ts'

/**
 * Makes the state directory and `instances/` in it, private to this user. Throws
 * `registry_dir_unsafe` when others own it or can enter it, `storage_failed` when it cannot be
 * made or written.
 */
export async function openStateDirectory(
  path: string,
): Promise<{ path: string; instances: string }> {
  const instances = join(path, 'instances')
  try {
    for (const folder of [path, instances]) {
      await ensurePrivateFolder(folder)
      await access(folder, constants.W_OK | constants.X_OK)
    }
  } catch (error) {
    const { code, message, hint } = storageError(path, error)
    const advice = `name another folder with --registry-dir, or ${hint}`
    throw new ServiceError(code, message, { cause: error, hint: advice })
  }
  return { path, instances }
}
