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

/** The files of one instance in `<registry_dir>/instances`. */

export function recordFile(instancesDir: string, instanceId: string): string {
  return join(instancesDir, `${instanceId}.json`)
}

/** Where the generated token of an instance lies. */
export function tokenFile(instancesDir: string, instanceId: string): string {
  return join(instancesDir, `${instanceId}.token`)
}

/** Where the token lies with which commands of the same account use the server of an instance. */
export function ownerFile(instancesDir: string, instanceId: string): string {
  return join(instancesDir, `${instanceId}.owner`)
}

/** Null when there is no such token, or its file is not private to this user. */
export async function readOwnerToken(file: string): Promise<Secret | null> {
  const text = await readPrivateFile(file).catch(() => null)
  return text ? new Secret(text) : null
}
