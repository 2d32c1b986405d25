import { fileURLToPath } from 'node:url'
import { FileFollower } from '../../../lib/util/file-follower.ts'
import { readProblem, ServiceError } from '../../../lib/util/errors.ts'
import { decodeText, readBounded } from '../../../lib/util/bytes.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { repeat, systemTimer, type Timer } from '../../../lib/util/time.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { CatalogEntry } from './catalog-entry.ts'
import type { Catalog, CatalogState } from './catalog-resources.ts'
import { parseCatalog } from './parse-catalog.ts'

/** Bytes of a catalog file. */
const maxCatalogBytes = 1024 * 1024

/** The file is checked for changes this often. */
const catalogPollMs = 2000

/** The catalog of the adapters in this package (docs/catalog.md); `src` and `dist` lie equally deep. */
export const bundledCatalog: string = fileURLToPath(
  new URL('../../../../adapters/catalog.json', import.meta.url),
)

interface CatalogFileOptions {
  readonly path: string
  readonly source: Catalog['source']
  readonly log: Logger
  readonly timer?: Timer
}

/** A catalog in a file that may change at any time: read again when it did, never half. */
export class CatalogFile implements Catalog {
  readonly source: Catalog['source']
  readonly #options: CatalogFileOptions
  readonly #follower: FileFollower
  #state: CatalogState = { version: 0, entries: [], problem: null }
  /** Of the entries. */
  #text: string | null = null

  /** Throws `config_invalid` for a file that cannot be read or an invalid catalog. */
  static async open(options: CatalogFileOptions): Promise<CatalogFile> {
    const file = new CatalogFile(options)
    const { problem } = await file.refresh()
    if (problem === null) return file
    throw new ServiceError(
      'config_invalid',
      `the catalog ${options.path} is unusable: ${problem}`,
      { hint: 'correct the file; its format is in docs/catalog.md' },
    )
  }

  private constructor(options: CatalogFileOptions) {
    this.#options = options
    this.source = options.source
    this.#follower = new FileFollower(options.path)
  }

  get state(): CatalogState {
    return this.#state
  }

  async refresh(): Promise<CatalogState> {
    await this.#follower.look(() => this.#take())
    return this.#state
  }

  /** Looks every `catalogPollMs`, and calls after the state became another. Returns the stop. */
  follow(changed: (before: CatalogState, now: CatalogState) => void): () => void {
    const { timer = systemTimer } = this.#options
    let known = this.#state
    let isStopped = false
    const stop = repeat(timer, catalogPollMs, async () => {
      const now = await this.refresh()
      const before = known
      known = now
      if (!isStopped && now !== before) changed(before, now)
    })
    return () => {
      isStopped = true
      stop()
    }
  }

  /** False when the file could not be read: that may pass without a change of the file. */
  async #take(): Promise<boolean> {
    try {
      this.#next(await this.#read(this.#options.path))
      return true
    } catch (error) {
      this.#next(fail(`it cannot be read: ${readProblem(error)}`))
      return false
    }
  }

  async #read(path: string): Promise<Result<readonly CatalogEntry[], string>> {
    const bytes = await readBounded(path, maxCatalogBytes)
    if (!bytes.ok) return bytes
    const text = decodeText(bytes.value)
    if (!text.ok) return text
    if (text.value === this.#text) return ok(this.#state.entries)
    const parsed = parseCatalog(text.value)
    if (parsed.ok) this.#text = text.value
    return parsed
  }

  /** What went wrong leaves the entries as they are. */
  #next(found: Result<readonly CatalogEntry[], string>): void {
    const before = this.#state
    const entries = found.ok ? found.value : before.entries
    const problem = found.ok ? null : found.failure
    if (entries === before.entries && problem === before.problem) return
    if (problem !== null && this.#text !== null) {
      const { path } = this.#options
      this.#options.log.warn({ path, problem }, 'the catalog stays as it was')
    }
    this.#state = { version: before.version + 1, entries, problem }
  }
}
