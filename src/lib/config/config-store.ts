import { dirname, join, resolve } from 'node:path'
import { type Config, emptyConfig, formatConfig, parseConfig } from './config-file.ts'
import { readPrivateFile, withFileLock, writePrivateFile } from './private-file.ts'

/** The configuration file of one user, shared by all commands that run at the same time. */
export class ConfigStore {
  readonly path: string
  readonly #lockWaitMs: number | undefined

  constructor(path: string, lockWaitMs?: number) {
    this.path = resolve(path)
    this.#lockWaitMs = lockWaitMs
  }

  /**
   * An empty configuration when there is no file. With `mounted` also of root, and a pipe. Throws
   * `config_invalid`.
   */
  async read(mounted = false): Promise<Config> {
    const text = await readPrivateFile(this.path, { mounted })
    return text === null ? emptyConfig : parseConfig(text, this.path)
  }

  /**
   * Reads, changes and writes under the lock. Nothing is written when `change` returns what it got.
   * Throws `config_busy`, `storage_failed`, `storage_full`; then the file is as before.
   */
  async update(change: (config: Config) => Config | Promise<Config>): Promise<Config> {
    const lock = join(dirname(this.path), 'config.lock')
    const run = async (): Promise<Config> => {
      const before = await this.read()
      const after = await change(before)
      if (after !== before) await writePrivateFile(this.path, formatConfig(after))
      return after
    }
    return withFileLock(lock, run, this.#lockWaitMs)
  }
}
