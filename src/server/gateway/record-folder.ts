import { type Stats, lstatSync, opendirSync, watch, type FSWatcher } from 'node:fs'
import { errnoOf } from '../../lib/util/errno.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { isOwnFolder } from '../../lib/util/posix.ts'
import { type Result, fail, ok } from '../../lib/util/result.ts'

/** Names of files besides records: tokens, records half-written. */
const othersPerRecord = 4

export interface RecordNames {
  readonly names: readonly string[]
  /** There are more than `most`. */
  readonly more: boolean
}

/** The names of the records in a folder; none when there is no folder. */
export function listRecords(folder: string, most: number): Result<RecordNames, string> {
  const names: string[] = []
  try {
    const listing = opendirSync(folder, { bufferSize: 256 })
    try {
      for (let left = most * othersPerRecord; left >= 0; left--) {
        const name = listing.readSync()?.name
        if (name === undefined) return ok({ names, more: false })
        if (!isRecordName(name)) continue
        if (names.length === most) break
        names.push(name)
      }
      return ok({ names, more: true })
    } finally {
      listing.closeSync()
    }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return ok({ names, more: false })
    return fail(`the folder cannot be read (${errnoOf(error) ?? 'unknown error'})`)
  }
}

export function isRecordName(name: string): boolean {
  return name.endsWith('.json')
}

/** Change events of the folder, also of one that is made, or made anew, later. */
export class FolderWatch {
  readonly #folder: string
  readonly #log: Logger
  readonly #onName: (name: string | null) => void
  #watcher: FSWatcher | null = null
  /** Which folder is watched: one made anew under the same name needs a new watch. */
  #watchedId = ''

  /** `onName`: a file of this name changed; null: the system does not say which. */
  constructor(folder: string, log: Logger, onName: (name: string | null) => void) {
    this.#folder = folder
    this.#log = log
    this.#onName = onName
  }

  /** Watches what is there now. Returns why the folder must not be used, or null. */
  check(): string | null {
    const found = this.#look()
    const id = found === null ? '' : `${found.dev}:${found.ino}:${found.birthtimeMs}`
    const isSafe = found === null || isOwnFolder(found)
    if (id !== this.#watchedId || !isSafe) {
      this.close()
      this.#watchedId = id
      if (found !== null && isSafe) this.#watch()
    }
    return isSafe ? null : 'the folder is not used: others can change it, or it is no folder'
  }

  close(): void {
    this.#watcher?.close()
    this.#watcher = null
    this.#watchedId = ''
  }

  #look(): Stats | null {
    try {
      return lstatSync(this.#folder, { throwIfNoEntry: false }) ?? null
    } catch {
      return null
    }
  }

  #watch(): void {
    try {
      this.#watcher = watch(this.#folder, { persistent: false }, (_event, name) => {
        this.#onName(name)
      })
      this.#watcher.on('error', () => this.close())
    } catch (error) {
      const fields = { folder: this.#folder, code: errnoOf(error) }
      this.#log.warn(fields, 'no change events for instance records, looking at them instead')
    }
  }
}
