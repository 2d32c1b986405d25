import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { ensurePrivateFolder, storageError, readPrivateFile } from '../config/private-file.ts'
import { ServiceError } from '../util/errors.ts'
import { Secret } from '../util/secret.ts'

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

/**
 * A file of one instance in `<registry_dir>/instances`: its record, its generated host token, or the
 * token with which commands of the same account use its server.
 */
export function instanceFile(
  instancesDir: string,
  instanceId: string,
  kind: 'json' | 'token' | 'owner',
): string {
  return join(instancesDir, `${instanceId}.${kind}`)
}

/** Null when there is no such token, or its file is not private to this user. */
export async function readOwnerToken(file: string): Promise<Secret | null> {
  const text = await readPrivateFile(file).catch(() => null)
  return text ? new Secret(text) : null
}
