import { maxCatalogEntries } from './parse-catalog.ts'
import { ResourceNotFound } from '../../resources/errors.ts'
import { KeptAnswers } from '../../resources/kept-answers.ts'
import type { Content } from '../../resources/producer.ts'
import {
  integerParameter,
  limitParameter,
  textParameter,
} from '../../resources/query-parameters.ts'
import type { ResourceUri } from '../../resources/resource-uri.ts'
import type { CatalogEntry } from './catalog-entry.ts'
import { rankEntries } from './rank-entries.ts'

/** Entries when the reader names no `limit`. */
export const defaultCatalogLimit = 100

/** A catalog at one moment. */
export interface CatalogState {
  /** Another number, another state. */
  readonly version: number
  readonly entries: readonly CatalogEntry[]
  /** What is wrong with the file since these entries were read from it; null: nothing. */
  readonly problem: string | null
}

/** Packages for the applications of this machine; never asked for outside of it. */
export interface Catalog {
  /** In words, without a path. */
  readonly source: 'bundled' | 'file'
  /** As last seen. */
  readonly state: CatalogState
  /** As it is now. Never fails: a file gone wrong leaves the last good entries. */
  refresh(): Promise<CatalogState>
}

/** `gateway://catalog` and `gateway://catalog/{name}`. */
export class CatalogResources {
  readonly #catalog: Catalog
  readonly #answers: KeptAnswers

  constructor(catalog: Catalog) {
    this.#catalog = catalog
    this.#answers = new KeptAnswers()
  }

  checkParameters(uri: ResourceUri): void {
    this.#queryOf(uri)
  }

  async readList(uri: ResourceUri): Promise<readonly Content[]> {
    const { query, limit, offset } = this.#queryOf(uri)
    const state = await this.#catalog.refresh()
    return this.#answers.get(state.version, uri.text, () => {
      const found = rankEntries(state.entries, query ?? '')
      const entries = found.slice(offset, offset + limit)
      return JSON.stringify({
        total: found.length,
        query,
        limit,
        offset,
        capped: offset + entries.length < found.length,
        source: this.#catalog.source,
        problem: state.problem,
        entries,
      })
    })
  }

  #queryOf(uri: ResourceUri) {
    return {
      query: textParameter(uri, 'query') ?? null,
      limit: limitParameter(uri, defaultCatalogLimit, maxCatalogEntries),
      offset: integerParameter(uri, 'offset') ?? 0,
    }
  }

  async readOne(uri: ResourceUri, name: string): Promise<readonly Content[]> {
    const state = await this.#catalog.refresh()
    return this.#answers.get(state.version, uri.text, () => {
      const entry = state.entries.find(each => each.name === name)
      if (entry === undefined) throw new ResourceNotFound(uri.text)
      return JSON.stringify(entry)
    })
  }

  names(): readonly string[] {
    return this.#catalog.state.entries.map(({ name }) => name)
  }
}
