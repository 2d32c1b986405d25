import { FileFollower } from '../../../lib/util/file-follower.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { type Logger, silentLogger } from '../../../lib/util/logger.ts'
import { withFileLock } from '../../../lib/config/private-file.ts'
import { readKeyFile, writeKeyFile } from './key-file.ts'
import {
  type KeyRingSource,
  type KeyStore,
  type KeyStoreOptions,
  openKeyStore,
} from './key-store.ts'
import { parseKeyRing } from './parse-key-ring.ts'

interface FileKeyOptions extends KeyStoreOptions {
  /** In a folder that is private to this user already. */
  readonly file: string
  /** `maxStoreWaitMs` of the limits. */
  readonly busyMs: number
}

/**
 * Opens the key file; creates it when it is missing. Throws as `openKeyStore`, and
 * `registry_dir_unsafe` for a file that is not safely ours.
 */
export function openFileKeys(options: FileKeyOptions): Promise<KeyStore> {
  return openKeyStore(fileSource(options), options)
}

function fileSource({ file, busyMs, log = silentLogger }: FileKeyOptions): KeyRingSource {
  const follower = new FileFollower(file)
  return {
    name: `key file ${file}`,
    hints: {
      damaged: 'restore it, or move it away: new keys are made then, and every user logs in again',
      absent: 'put it back; without it every token is void',
    },
    read: () => readKeyFile(file, log),
    look: reread => follower.look(reread),

    async change(next) {
      const change = async (): Promise<void> => {
        const before = await readKeyFile(file, log)
        const after = await next(before)
        if (after !== before) await writeKeyFile(file, after)
      }
      await withFileLock(`${file}.lock`, change, busyMs)
    },
  }
}

/** The text of a whole key file; null when there is none. Throws `config_invalid` for another. */
export async function readKeyText(file: string, log: Logger): Promise<string | null> {
  const text = await readKeyFile(file, log)
  if (text === null) return null
  const parsed = await parseKeyRing(text)
  if (parsed.ok) return text
  throw new ServiceError('config_invalid', `the key file ${file} ${parsed.failure}`, {
    hint: 'restore another copy, or start without it: every user must then log in again',
  })
}

/** As `writeKeyFile`, read again: what is there is what was meant. */
export async function writeKeyText(file: string, text: string, log: Logger): Promise<void> {
  await writeKeyFile(file, text)
  if ((await readKeyText(file, log)) === text) return
  throw new ServiceError('storage_failed', `${file} does not hold what was written to it`, {
    hint: 'check its disk',
  })
}
