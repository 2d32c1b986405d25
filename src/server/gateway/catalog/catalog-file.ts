import { stat } from 'node:fs/promises'
import { readProblem, ServiceError } from '../../../lib/util/errors.ts'
import { decodeText, readBounded } from '../../../lib/util/bytes.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { repeat, systemTimer, type Timer } from '../../../lib/util/time.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { GatewayLimits } from '../../../lib/config/gateway-limits.ts'
import type { CatalogEntry } from './catalog-entry.ts'
import type { Catalog, CatalogState } from './catalog-resources.ts'
import { type CatalogParseLimits, parseCatalog } from './parse-catalog.ts'

export type CatalogFileLimits = CatalogParseLimits &
  Pick<GatewayLimits, 'maxCatalogBytes' | 'catalogPollMs'>

interface CatalogFileOptions {
  readonly path: string
  readonly source: Catalog['source']
  readonly limits: CatalogFileLimits
  readonly log: Logger
  readonly timer?: Timer
}

/** A catalog in a file that may change at any time: read again when it did, never half. */
export class CatalogFile implements Catalog {
  readonly source: Catalog['source']
  readonly #options: CatalogFileOptions
  #state: CatalogState = { version: 0, entries: [], problem: null }
  #mark: string | null = null
  /** Of the entries. */
  #text: string | null = null
  #looking: Promise<CatalogState> | null = null

  /** Throws `config_invalid` for a file that cannot be read or an invalid catalog. */
  static async open(options: CatalogFileOptions): Promise<CatalogFile> {
    const file = new CatalogFile(options)
    const { problem } = await file.refresh()
    if (problem === null) return file
    throw new ServiceError(
      'config_invalid',
      `the catalog ${options.path} is unusable: ${problem}`,
      {
        hint: 'correct the file; its format is in docs/catalog.md',
      },
    )
  }

  private constructor(options: CatalogFileOptions) {
    this.#options = options
    this.source = options.source
  }

  get state(): CatalogState {
    return this.#state
  }

  refresh(): Promise<CatalogState> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  /** Looks every `catalogPollMs`, and calls after the state became another. Returns the stop. */
  follow(changed: (before: CatalogState, now: CatalogState) => void): () => void {
    const { limits, timer = systemTimer } = this.#options
    let known = this.#state
    let isStopped = false
    const stop = repeat(timer, limits.catalogPollMs, async () => {
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

  async #look(): Promise<CatalogState> {
    const { path } = this.#options
    try {
      const { mtimeNs, ctimeNs, size, ino } = await stat(path, { bigint: true })
      const mark = `${mtimeNs} ${ctimeNs} ${size} ${ino}`
      if (mark === this.#mark) return this.#state
      const found = await this.#read(path)
      // Only now: what was written while it was read is looked at again.
      this.#mark = mark
      return this.#next(found)
    } catch (error) {
      this.#mark = null
      return this.#next(fail(`it cannot be read: ${readProblem(error)}`))
    }
  }

  async #read(path: string): Promise<Result<readonly CatalogEntry[], string>> {
    const { limits } = this.#options
    const bytes = await readBounded(path, limits.maxCatalogBytes)
    if (!bytes.ok) return bytes
    const text = decodeText(bytes.value)
    if (!text.ok) return text
    if (text.value === this.#text) return ok(this.#state.entries)
    const parsed = parseCatalog(text.value, limits)
    if (parsed.ok) this.#text = text.value
    return parsed
  }

  /** What went wrong leaves the entries as they are. */
  #next(found: Result<readonly CatalogEntry[], string>): CatalogState {
    const before = this.#state
    const entries = found.ok ? found.value : before.entries
    const problem = found.ok ? null : found.failure
    if (entries === before.entries && problem === before.problem) return before
    if (problem !== null && this.#text !== null) {
      const { path } = this.#options
      this.#options.log.warn({ path, problem }, 'the catalog stays as it was')
    }
    this.#state = { version: before.version + 1, entries, problem }
    return this.#state
  }
}
