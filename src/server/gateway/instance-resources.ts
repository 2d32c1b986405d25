import { minPrefixChars } from '../../lib/instances/select-instance.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../resources/errors.ts'
import { KeptAnswers } from '../resources/kept-answers.ts'
import type { Content } from '../resources/producer.ts'
import type { ResourceUri } from '../resources/resource-uri.ts'
import type { InstanceEntry } from './instance-directory.ts'
import { instanceRow, type InstanceRows, maxInstanceRows, verboseRow } from './instance-rows.ts'
import {
  type LookupFailure,
  lookUpInstance,
  parseInstanceQuery,
  queryInstances,
} from './instance-query.ts'

/** Instances that are named when the beginning of an id fits several. */
const maxLookupCandidates = 20

/** `gateway://instances` and `gateway://instances/{instance_id}`. */
export class InstanceResources {
  readonly #rows: InstanceRows
  readonly #lists: KeptAnswers
  readonly #singles: KeptAnswers

  constructor(rows: InstanceRows) {
    this.#rows = rows
    this.#lists = new KeptAnswers()
    this.#singles = new KeptAnswers()
  }

  checkParameters(uri: ResourceUri): void {
    this.#queryOf(uri)
  }

  readList(uri: ResourceUri): readonly Content[] {
    const rows = this.#rows
    const query = this.#queryOf(uri)
    return this.#lists.get(rows.version, uri.text, () => {
      const all = query.verbose ? rows.verbose() : rows.compact()
      return JSON.stringify({ list_ok: true, ...queryInstances(all, rows.faults, query) })
    })
  }

  readOne(uri: ResourceUri, selector: string): readonly Content[] {
    const rows = this.#rows
    return this.#singles.get(rows.version, uri.text, () => {
      const found = lookUpInstance(rows.entries, selector)
      if (!found.ok) throw this.#lookupError(found.failure, uri.text)
      return JSON.stringify(verboseRow(found.value))
    })
  }

  #queryOf(uri: ResourceUri): ReturnType<typeof parseInstanceQuery> {
    return parseInstanceQuery(uri, maxInstanceRows)
  }

  #lookupError(failure: LookupFailure, uri: string): Error {
    switch (failure.kind) {
      case 'none':
        return new ResourceNotFound(uri)
      case 'too_short':
        return new ResourceUriInvalid(
          `an instance is selected by its id or by at least ${minPrefixChars} digits of it`,
          { hint: 'gateway://instances has the ids', data: { uri } },
        )
      case 'ambiguous': {
        const { candidates } = failure
        const shown = candidates.slice(0, maxLookupCandidates)
        return new ResourceUriInvalid(`${candidates.length} instances begin with these digits`, {
          hint: 'select one of the candidates by more digits of its instance_id',
          data: { uri, total: candidates.length, candidates: shown.map(brief) },
        })
      }
    }
  }
}

function brief(entry: InstanceEntry): object {
  const { instance_id, display_id, display_name, dcc_type, status, scene } = instanceRow(entry)
  return { instance_id, display_id, display_name, dcc_type, status, scene }
}
