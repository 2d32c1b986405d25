import type { Limits } from '../options.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../resources/errors.ts'
import { KeptAnswers } from '../resources/kept-answers.ts'
import type { Content } from '../resources/producer.ts'
import type { ResourceUri } from '../resources/resource-uri.ts'
import type { DirectoryView } from './directory-view.ts'
import { type LookupFailure, lookUpInstance, minPrefixChars } from './instance-lookup.ts'
import { parseInstanceQuery, queryInstances } from './instance-query.ts'
import type { GatewayLimits } from './limits.ts'

type InstanceLimits = Pick<Limits, 'maxKeptAnswers' | 'maxKeptAnswerBytes'> &
  Pick<GatewayLimits, 'maxInstanceRows' | 'maxLookupCandidates'>

/** `gateway://instances` and `gateway://instances/{instance_id}`. */
export class InstanceResources {
  readonly #view: DirectoryView
  readonly #limits: InstanceLimits
  readonly #lists: KeptAnswers
  readonly #singles: KeptAnswers

  constructor(view: DirectoryView, limits: InstanceLimits) {
    this.#view = view
    this.#limits = limits
    this.#lists = new KeptAnswers(limits)
    this.#singles = new KeptAnswers(limits)
  }

  readList(uri: ResourceUri): readonly Content[] {
    const view = this.#view
    const query = parseInstanceQuery(uri, this.#limits.maxInstanceRows)
    return this.#lists.get(view.version, uri.text, () => {
      const rows = query.verbose ? view.verboseRows() : view.rows()
      return JSON.stringify({ list_ok: true, ...queryInstances(rows, view.faults, query) })
    })
  }

  readOne(uri: ResourceUri, selector: string): readonly Content[] {
    const view = this.#view
    return this.#singles.get(view.version, uri.text, () => {
      const found = lookUpInstance(view.entries, selector)
      if (!found.ok) throw this.#lookupError(found.failure, uri.text)
      return JSON.stringify(view.verboseRow(found.value))
    })
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
        const shown = candidates.slice(0, this.#limits.maxLookupCandidates)
        return new ResourceUriInvalid(`${candidates.length} instances begin with these digits`, {
          hint: 'select one of the candidates by more digits of its instance_id',
          data: {
            uri,
            total: candidates.length,
            candidates: shown.map(entry => this.#brief(entry)),
          },
        })
      }
    }
  }

  #brief(entry: Parameters<DirectoryView['row']>[0]): object {
    const { instance_id, display_id, display_name, dcc_type, status, scene } = this.#view.row(entry)
    return { instance_id, display_id, display_name, dcc_type, status, scene }
  }
}
