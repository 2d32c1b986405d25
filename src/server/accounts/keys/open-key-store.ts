import { repeat, type Timer } from '../../../lib/util/time.ts'
import { FileFollower } from '../../../lib/util/file-follower.ts'
import { messageOf, ServiceError } from '../../../lib/util/errors.ts'
import { type Logger, silentLogger } from '../../../lib/util/logger.ts'
import { withFileLock } from '../../../lib/config/file-lock.ts'
import { readKeyFile, writeKeyFile } from './key-file.ts'
import type { KeyStore } from './key-store.ts'
import { parseKeyRing } from './parse-key-ring.ts'
import { type KeyOptions, type KeyRingSource, openStoredKeys } from './stored-keys.ts'

interface KeyFileOptions extends KeyOptions {
  /** In a folder that is private to this user already. */
  readonly file: string
  /** `maxStoreWaitMs` of the limits. */
  readonly busyMs: number
}

/**
 * Opens the key file; creates it when it is missing. Throws as `openStoredKeys`, and
 * `registry_dir_unsafe` for a file that is not safely ours.
 */
export function openKeyStore(options: KeyFileOptions): Promise<KeyStore> {
  return openStoredKeys(fileSource(options), options)
}

function fileSource({ file, busyMs, log = silentLogger }: KeyFileOptions): KeyRingSource {
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
      const lock = { waitMs: busyMs, setting: '--data-dir' }
      const done = await withFileLock(`${file}.lock`, lock, async () => {
        const before = await readKeyFile(file, log)
        const after = await next(before)
        if (after !== before) await writeKeyFile(file, after)
      })
      if (done.ok) return
      throw new ServiceError(
        'storage_failed',
        `the key file ${file} is in use by another process`,
        { hint: 'try again when the other command has ended' },
      )
    },
  }
}

interface FollowOptions {
  readonly timer: Timer
  readonly log: Logger
  /** `keyPollMs` of the limits. */
  readonly pollMs: number
}

/**
 * Keeps a running server on the keys of the file: a rotation by the command line is seen within
 * `pollMs`, and keys are rotated when it is time. When the file becomes unusable the keys in
 * memory go on, and the log says so once. Returns the stop.
 */
export function followKeys(keys: KeyStore, { timer, log, pollMs }: FollowOptions): () => void {
  return repeat(timer, pollMs, keyUpdater(keys, log))
}

/** Returns an `update` that never rejects: each problem is logged once. */
export function keyUpdater(keys: KeyStore, log: Logger): () => Promise<void> {
  let lastProblem = ''
  return async () => {
    try {
      await keys.update()
      lastProblem = ''
    } catch (error) {
      const problem = messageOf(error)
      if (problem !== lastProblem) log.error({ err: error }, `the old keys stay in use: ${problem}`)
      lastProblem = problem
    }
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
