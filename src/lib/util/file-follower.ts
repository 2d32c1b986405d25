import { type BigIntStats, statSync } from 'node:fs'
import { errnoOf } from './errors.ts'

/** Reads a file again when it changed; `look` is called by a timer, a request or a change event. */
export class FileFollower {
  readonly #path: string
  /** The state of the file that was read; null: the next look reads it in any case. */
  #mark: string | null = null
  /** In this turn of the event loop the file was as it had been read. */
  #isFresh = false
  #running: Promise<void> = Promise.resolve()
  /** A look that has not begun: it serves every caller until then. */
  #next: Promise<void> | null = null

  constructor(path: string) {
    this.#path = path
  }

  /**
   * Calls `read` unless the file is as it was when that last returned true. One look runs at a
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

  /** Blocks for one call to the file system, at most once in a turn of the event loop. */
  isUnchanged(): boolean {
    if (this.#isFresh) return true
    this.#isFresh = this.#markNow() === this.#mark
    if (this.#isFresh) setImmediate(() => (this.#isFresh = false))
    return this.#isFresh
  }

  async #look(read: () => Promise<boolean>): Promise<void> {
    // Before the file is read: the next look then sees a change in between.
    const mark = this.#markNow()
    if (mark === this.#mark) return
    this.#mark = null
    if (await read()) this.#mark = mark
  }

  #markNow(): string {
    try {
      // An error of a missing file would cost more than all else here.
      const found = statSync(this.#path, { bigint: true, throwIfNoEntry: false })
      return found === undefined ? 'ENOENT' : fileMark(found)
    } catch (error) {
      return String(errnoOf(error))
    }
  }
}

/** Differs when the file was written, replaced, or given another owner or mode. */
export function fileMark({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(':')
}
