import { dirname, join, resolve } from 'node:path'
import { ServiceError } from '../util/errors.ts'
import type { Logger } from '../util/logger.ts'
import { type Result, fail, ok } from '../util/result.ts'
import {
  type Config,
  type ConfigFault,
  emptyConfig,
  formatConfig,
  parseConfig,
} from './config-file.ts'
import { takeFileLock } from './file-lock.ts'
import {
  type PrivateFile,
  makePrivateFolder,
  readOwnFile,
  readPrivateFile,
  writePrivateFile,
} from './private-file.ts'

/** How long a command waits for others that write the same file. */
export const defaultLockWaitMs = 10_000

/** The configuration file of one user, shared by every command that runs at the same time. */
export interface ConfigStore {
  readonly path: string
  /** The file as it is; an empty configuration when there is none. Throws `config_invalid`. */
  read(): Promise<Config>
  /**
   * The same for a command that has its token from elsewhere and saves nothing: links are followed
   * and no mode is asked for. The file belongs to the user or root.
   */
  readSettings(): Promise<Config>
  /**
   * Reads, changes and writes under the lock. `change` may return what it got: then nothing is
   * written. Throws `config_busy` when others hold the lock for too long, `storage_failed`,
   * `storage_full`; then the file is as before.
   */
  update(change: (config: Config) => Config): Promise<Config>
  /**
   * Runs under the lock. Fails with `config_busy` or a storage
   * error when it was not to be had; what `run` throws passes through.
   */
  locked<T>(run: (held: HeldConfig) => Promise<T>): Promise<Result<T, ServiceError>>
}

/** The file while this process alone may write it. */
export interface HeldConfig {
  read(): Promise<Config>
  write(config: Config): Promise<void>
}

export function createConfigStore(options: {
  path: string
  log: Logger
  lockWaitMs?: number
}): ConfigStore {
  const { log, lockWaitMs = defaultLockWaitMs } = options
  const path = resolve(options.path)
  const warned = new Set<string>()
  const file: PrivateFile = {
    path,
    onTightened(tightened, mode) {
      if (warned.has(tightened)) return
      warned.add(tightened)
      log.warn({ path: tightened, mode }, `${tightened} was open to other users; now it is not`)
    },
  }

  const read = async (): Promise<Config> => parsed(await readPrivateFile(file))
  const readSettings = async (): Promise<Config> => parsed(await readOwnFile(path))

  function parsed(text: string | null): Config {
    if (text === null) return emptyConfig
    const config = parseConfig(text)
    if (!config.ok) throw corrupt(path, config.failure)
    return config.value
  }

  async function write(config: Config): Promise<void> {
    const text = formatConfig(config)
    if (text !== (await readPrivateFile(file))) await writePrivateFile(file, text)
  }

  async function takeLock(): Promise<Result<() => void, ServiceError>> {
    try {
      await makePrivateFolder(file)
      const lock = await takeFileLock(join(dirname(path), 'config.lock'), { waitMs: lockWaitMs })
      return lock.ok ? lock : fail(busy(path))
    } catch (error) {
      const isStorage = error instanceof ServiceError && error.code.startsWith('storage_')
      if (!isStorage) throw error
      return fail(error)
    }
  }

  async function locked<T>(
    run: (held: HeldConfig) => Promise<T>,
  ): Promise<Result<T, ServiceError>> {
    const lock = await takeLock()
    if (!lock.ok) return lock
    try {
      return ok(await run({ read, write }))
    } finally {
      lock.value()
    }
  }

  async function update(change: (config: Config) => Config): Promise<Config> {
    const done = await locked(async () => {
      const before = await read()
      const after = change(before)
      if (after !== before) await write(after)
      return after
    })
    if (!done.ok) throw done.failure
    return done.value
  }

  return { path, read, readSettings, update, locked }
}

function busy(path: string): ServiceError {
  return new ServiceError('config_busy', `${path} is in use by another service-cli`, {
    hint: 'wait for the other commands to end, then run this one again',
  })
}

function corrupt(path: string, { what, line, column }: ConfigFault): ServiceError {
  const place = line === undefined ? path : `${path}:${line}:${column ?? 1}`
  return new ServiceError('config_invalid', `${place} ${what}`, {
    hint: `correct it, or move ${path} away and log in again`,
  })
}
