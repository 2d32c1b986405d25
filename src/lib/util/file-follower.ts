import { type BigIntStats, statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { errnoOf } from './errors.ts'

/** Reads files again when they changed; `look` is called by a timer, a request or a change event. */
export class FileFollower {
  readonly #paths: string[]
  /** The state of the files that was read; null: the next look reads them in any case. */
  #mark: string | null = null
  /** In this turn of the event loop the files were as they had been read. */
  #isFresh = false
  #running: Promise<void> = Promise.resolve()
  /** A look that has not begun: it serves every caller until then. */
  #next: Promise<void> | null = null

  constructor(...paths: string[]) {
    this.#paths = paths
  }

  /**
   * Calls `read` unless the files are as they were when it last returned true. One look runs at a
   * time and each begins after the call. Rejects as `read` does.
   */
  look(read: () => Promise<boolean>): Promise<void> {
    if (this.#next !== null) return this.#next
    const next = this.#running.then(() => {
      this.#next = null
      return this.#look(read)
    })
    this.#next = next
    this.#running = next.catch(() => {})
    return next
  }

  /** Blocks for one call to the file system of each file, at most once in a turn of the event loop. */
  isUnchanged(): boolean {
    if (this.#isFresh) return true
    const marks = this.#paths.map(path => {
      try {
        // An error of a missing file would cost more than all else here.
        const found = statSync(path, { bigint: true, throwIfNoEntry: false })
        return found === undefined ? 'ENOENT' : fileMark(found)
      } catch (error) {
        return String(errnoOf(error))
      }
    })
    this.#isFresh = marks.join() === this.#mark
    if (this.#isFresh) setImmediate(() => (this.#isFresh = false))
    return this.#isFresh
  }

  async #look(read: () => Promise<boolean>): Promise<void> {
    // Before the files are read: the next look then sees a change in between.
    const marks = this.#paths.map(path =>
      stat(path, { bigint: true }).then(fileMark, error => String(errnoOf(error))),
    )
    const mark = (await Promise.all(marks)).join()
    if (mark === this.#mark) return
    this.#mark = null
    if (await read()) this.#mark = mark
  }
}

/** Differs when the file was written, replaced, or given another owner or mode. */
export function fileMark({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(':')
}
