import type { ArtefactPage } from './store.ts'

interface Remembered {
  readonly page: ArtefactPage
  readonly version: number
  readonly validUntilMs: number
}

const maxPages = 8

/** The pages given out last: right for as long as the index stays as it is and nothing on them expires. */
export class PageMemory {
  readonly #pages = new Map<string, Remembered>()

  get(after: string | undefined, limit: number, version: number, nowMs: number) {
    const known = this.#pages.get(key(after, limit))
    const isRight = known?.version === version && nowMs < known.validUntilMs
    return isRight ? known.page : null
  }

  /** `validUntilMs`: when the first artefact on the page expires. */
  set(
    after: string | undefined,
    limit: number,
    version: number,
    page: ArtefactPage,
    validUntilMs: number,
  ): void {
    if (this.#pages.size >= maxPages) this.#pages.clear()
    this.#pages.set(key(after, limit), { page, version, validUntilMs })
  }
}

function key(after: string | undefined, limit: number): string {
  return `${limit} ${after ?? ''}`
}
