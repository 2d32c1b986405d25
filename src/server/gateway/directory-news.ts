import type { Logger } from '../../lib/util/logger.ts'
import type { InstanceChange } from './instance-directory.ts'

type Listener = (changes: readonly InstanceChange[]) => void

/** Tells changes to whoever listens; one that throws is logged and costs the others nothing. */
export class DirectoryNews {
  readonly #log: Logger
  readonly #listeners = new Set<{ readonly tell: Listener }>()

  constructor(log: Logger) {
    this.#log = log
  }

  /** Returns the unsubscribe. */
  add(tell: Listener): () => void {
    const own = { tell }
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

  tell(changes: readonly InstanceChange[]): void {
    if (changes.length === 0) return
    for (const { tell } of this.#listeners) {
      try {
        tell(changes)
      } catch (error) {
        this.#log.error({ err: error }, 'a listener of the instance directory failed')
      }
    }
  }

  clear(): void {
    this.#listeners.clear()
  }
}
