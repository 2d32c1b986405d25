import { dirname, join } from 'node:path'
import { errnoOf } from '../errno.ts'
import { ServiceError } from '../errors.ts'
import { keysFileIn, readKeysFile } from '../keys/keys-file.ts'
import { type NamedKey, formatKeys } from '../keys/keys-text.ts'
import { ensurePrivateDirectory } from '../posix.ts'
import { defaultLockWaitMs } from './config-store.ts'
import { takeFileLock } from './file-lock.ts'
import { writePrivateFile } from './private-file.ts'

export interface KeyStore {
  readonly path: string
  /** Null: there is no file. Throws `config_invalid` when it cannot be used. */
  read(): Promise<readonly NamedKey[] | null>
  /**
   * Reads, changes and writes the keys while no other process does; a reader finds the old file or
   * the new one. Throws as `read`, `config_busy`, `registry_dir_unsafe`, `storage_failed`; then the
   * file is as before.
   */
  update(change: (keys: readonly NamedKey[]) => readonly NamedKey[]): Promise<void>
}

/** The named keys of the servers of one registry folder. */
export function createKeyStore(registryDir: string, lockWaitMs = defaultLockWaitMs): KeyStore {
  const path = keysFileIn(registryDir)

  async function update(change: (keys: readonly NamedKey[]) => readonly NamedKey[]): Promise<void> {
    await openFolder(registryDir)
    const lock = await takeFileLock(join(dirname(path), 'keys.lock'), { waitMs: lockWaitMs })
    if (!lock.ok) {
      throw new ServiceError('config_busy', `${path} is in use by another service-cli`, {
        hint: 'wait for the other commands to end, then run this one again',
      })
    }
    try {
      const keys = change((await readKeysFile(path)) ?? [])
      await writePrivateFile({ path, onTightened: () => {} }, formatKeys(keys))
    } finally {
      lock.value()
    }
  }

  return { path, read: () => readKeysFile(path), update }
}

async function openFolder(path: string): Promise<void> {
  try {
    await ensurePrivateDirectory(path)
  } catch (error) {
    if (error instanceof ServiceError) throw error
    const reason = errnoOf(error) ?? 'unknown error'
    throw new ServiceError('storage_failed', `the folder ${path} cannot be made (${reason})`, {
      cause: error,
      hint: 'name another folder with --registry-dir',
    })
  }
}
