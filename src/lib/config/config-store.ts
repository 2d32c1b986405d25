import { dirname, join, resolve } from 'node:path'
import { ServiceError } from '../util/errors.ts'
import type { Logger } from '../util/logger.ts'
import { fail, ok, type Result } from '../util/result.ts'
import { type Config, emptyConfig, formatConfig, parseConfig } from './config-file.ts'
import { readPrivateFile, withFileLock, writePrivateFile } from './private-file.ts'

/** The file while this process alone may write it. */
export interface HeldConfig {
  read(): Promise<Config>
  write(config: Config): Promise<void>
}

/** The configuration file of one user, shared by all commands that run at the same time. */
export class ConfigStore {
  readonly path: string
  readonly #lockWaitMs: number | undefined

  constructor(path: string, lockWaitMs?: number) {
    this.path = resolve(path)
    this.#lockWaitMs = lockWaitMs
  }

  /** An empty configuration when there is no file. Throws `config_invalid`. */
  async read(mounted = false): Promise<Config> {
    const text = await readPrivateFile(this.path, { mounted })
    return text === null ? emptyConfig : parseConfig(text, this.path)
  }

  /** For a command that has its token from elsewhere: an unusable file counts as none. */
  async readSettings(): Promise<Config> {
    try {
      return await this.read(true)
    } catch (error) {
      if (error instanceof ServiceError) return emptyConfig
      throw error
    }
  }

  /**
   * Reads, changes and writes under the lock. Nothing is written when `change` returns what it got.
   * Throws `config_busy`, `storage_failed`, `storage_full`; then the file is as before.
   */
  async update(change: (config: Config) => Config | Promise<Config>): Promise<Config> {
    return this.#withLock(async () => {
      const before = await this.read()
      const after = await change(before)
      if (after !== before) await writePrivateFile(this.path, formatConfig(after))
      return after
    })
  }

  /** Fails when the lock is not available; what `run` throws passes through. */
  async locked<T>(run: (held: HeldConfig) => Promise<T>): Promise<Result<T, ServiceError>> {
    let hasBegun = false
    try {
      const held = {
        read: () => this.read(),
        write: (config: Config) => writePrivateFile(this.path, formatConfig(config)),
      }
      const begin = (): Promise<T> => {
        hasBegun = true
        return run(held)
      }
      return ok(await this.#withLock(begin))
    } catch (error) {
      if (hasBegun || !(error instanceof ServiceError)) throw error
      return fail(error)
    }
  }

  #withLock<T>(action: () => Promise<T>): Promise<T> {
    return withFileLock(join(dirname(this.path), 'config.lock'), action, this.#lockWaitMs)
  }
}

export function createConfigStore(options: {
  path: string
  log: Logger
  lockWaitMs?: number
}): ConfigStore {
  return new ConfigStore(options.path, options.lockWaitMs)
}
