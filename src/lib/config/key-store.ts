import { dirname, join } from 'node:path'
import { errnoOf, ServiceError } from '../util/errors.ts'
import { formatKeys, type NamedKey, readKeysFile } from '../auth/keys-file.ts'
import { ensurePrivateDirectory } from '../util/posix.ts'
import { withFileLock } from './file-lock.ts'
import { writePrivateFile } from './private-file.ts'

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
  async function update(change: Change): Promise<void> {
    await openFolder(dirname(path))
    const lock = join(dirname(path), 'keys.lock')
    const done = await withFileLock(lock, { waitMs: lockWaitMs }, async () => {
      const keys = await change((await readKeysFile(path)) ?? [])
      await writePrivateFile(path, formatKeys(keys))
    })
    if (done.ok) return
    throw new ServiceError('config_busy', `${path} is in use by another service-cli`, {
      hint: 'wait for the other commands to end, then run this one again',
    })
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
      hint: 'name a file in another folder with --keys-file',
    })
  }
}
