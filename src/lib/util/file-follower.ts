import { type BigIntStats, type FSWatcher, type Stats, statSync, watch } from 'node:fs'
import { stat } from 'node:fs/promises'
import { errnoOf } from './errors.ts'

/** Reads files again when they changed; `look` is called by a timer, a request or a change event. */
export class FileFollower {
  readonly #paths: readonly string[]
  /** The state of the files that was read; null: they are read at the next look in any case. */
  #mark: string | null = null
  #looking: Promise<void> | null = null
  /** For those who came after the look that runs had begun. */
  #next: Promise<void> | null = null

  constructor(...paths: string[]) {
    this.#paths = paths
  }

  /**
   * Calls `read` when the files are not as they were when it returned true. One look at a time, and
   * each begins after the call: callers that come while one runs share the next. Rejects as `read`
   * does.
   */
  look(read: () => Promise<boolean>): Promise<void> {
    if (this.#next !== null) return this.#next
    if (this.#looking === null) return this.#begin(read)
    this.#next = this.#looking
      .catch(() => {})
      .then(() => {
        this.#next = null
        return this.#begin(read)
      })
    return this.#next
  }

  /** Blocks for one call to the file system of each file. */
  isUnchanged(): boolean {
    const marks = this.#paths.map(path => {
      try {
        return fileMark(statSync(path, { bigint: true }))
      } catch (error) {
        return errorMark(error)
      }
    })
    return marks.join() === this.#mark
  }

  #begin(read: () => Promise<boolean>): Promise<void> {
    this.#looking = this.#look(read).finally(() => (this.#looking = null))
    return this.#looking
  }

  async #look(read: () => Promise<boolean>): Promise<void> {
    // Before the files are read: a change in between is then seen by the next look.
    const marks = await Promise.all(
      this.#paths.map(path => stat(path, { bigint: true }).then(fileMark, errorMark)),
    )
    const mark = marks.join()
    if (mark === this.#mark) return
    this.#mark = null
    if (await read()) this.#mark = mark
  }
}

/** Differs when the file was written, replaced, or given another owner or mode. */
export function fileMark({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(':')
}

function errorMark(error: unknown): string {
  return errnoOf(error) ?? 'unknown error'
}

interface FolderWatchOptions {
  /** `lstat` where a symlink must not be followed. */
  readonly stat: (path: string) => Promise<Stats>
  readonly isUsable?: (found: Stats) => boolean
  /** A file of this name changed; null: the system does not say which. */
  readonly onName: (name: string | null) => void
  /** There are no change events: the caller must look by itself. */
  readonly onUnavailable: (error: unknown) => void
}

/**
 * Change events of a folder, also of one that is created, or created anew, later. A folder and not
 * a file, because editors replace files: a watch on a file would end with it.
 */
export class FolderWatch {
  readonly #path: string
  readonly #options: FolderWatchOptions
  #watcher: FSWatcher | null = null
  /** A folder created anew under the same name needs a new watch. */
  #watchedId = ''
  #closed = false

  constructor(path: string, options: FolderWatchOptions) {
    this.#path = path
    this.#options = options
  }

  /** Watches the folder as it is now. False when it is there and not usable. */
  async check(): Promise<boolean> {
    const { stat, isUsable = () => true } = this.#options
    const found = await stat(this.#path).catch(() => null)
    if (this.#closed) return true
    const id = found === null ? '' : `${found.dev}:${found.ino}:${found.birthtimeMs}`
    const usable = found === null || isUsable(found)
    if (id !== this.#watchedId || !usable) {
      this.#unwatch()
      if (found !== null && usable) this.#watch(id)
    }
    return usable
  }

  close(): void {
    this.#closed = true
    this.#unwatch()
  }

  #watch(id: string): void {
    this.#watchedId = id
    const { onName, onUnavailable } = this.#options
    try {
      this.#watcher = watch(this.#path, { persistent: false }, (_event, name) => onName(name))
      this.#watcher.on('error', () => this.#unwatch())
    } catch (error) {
      onUnavailable(error)
    }
  }

  #unwatch(): void {
    this.#watcher?.close()
    this.#watcher = null
    this.#watchedId = ''
  }
}
