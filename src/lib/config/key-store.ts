import { dirname, join } from 'node:path'
import { formatKeys, type NamedKey, readKeysFile } from '../auth/keys-file.ts'
import { withFileLock, writePrivateFile } from './private-file.ts'

type Keys = readonly NamedKey[]
type Change = (keys: Keys) => Keys | Promise<Keys>

export interface KeyStore {
  readonly path: string
  /** Null: there is no file. Throws `config_invalid` when it cannot be used. */
  read(): Promise<Keys | null>
  /**
   * Reads, changes and writes the keys under a lock; readers see the old file or the new one.
   * Throws as `read`, `config_busy`, `registry_dir_unsafe`, `storage_failed`; then the file is as
   * before.
   */
  update(change: Change): Promise<void>
}

interface KeyStoreOptions {
  /**
   * The folder is that of the configuration and is closed to others when it is open. Any other one
   * is refused then: to change its mode is up to its owner.
   */
  readonly ownFolder?: boolean
  readonly lockWaitMs?: number
}

/** The named keys in the file `path`. */
export function createKeyStore(
  path: string,
  { lockWaitMs = 10_000 }: KeyStoreOptions = {},
): KeyStore {
  function update(change: Change): Promise<void> {
    const write = async (): Promise<void> => {
      const keys = await change((await readKeysFile(path)) ?? [])
      await writePrivateFile(path, formatKeys(keys))
    }
    return withFileLock(join(dirname(path), 'keys.lock'), write, lockWaitMs)
  }

  return { path, read: () => readKeysFile(path), update }
}
