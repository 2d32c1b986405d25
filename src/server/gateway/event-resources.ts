import type { Limits } from '../../lib/config/limits.ts'
import type { BuiltIn } from '../resources/built-in.ts'
import { suggestedLimits } from '../resources/completion.ts'
import { ResourceNotFound } from '../resources/errors.ts'
import { KeptAnswers } from '../resources/kept-answers.ts'
import type { Content, Descriptor, Template } from '../resources/producer.ts'
import { limitParameter } from '../resources/query-parameters.ts'
import type { ResourceUri } from '../resources/resource-uri.ts'
import type { EventRing } from './event-ring.ts'
import { eventTemplates } from './gateway-uris.ts'
import type { GatewayLimits } from '../../lib/config/gateway-limits.ts'

type EventLimits = Pick<Limits, 'maxKeptAnswers' | 'maxKeptAnswerBytes'> &
  Pick<GatewayLimits, 'maxGatewayEvents'>

const unlisted: readonly Descriptor[] = Object.freeze([])

/** The scheme `resources://`: `resources://gateway/events`, read and never pushed. */
export class EventResources implements BuiltIn {
  readonly #ring: EventRing
  readonly #limits: EventLimits
  readonly #kept: KeptAnswers

  constructor(ring: EventRing, limits: EventLimits) {
    this.#ring = ring
    this.#limits = limits
    this.#kept = new KeptAnswers(limits, 'application/jsonl')
  }

  list(): readonly Descriptor[] {
    return unlisted
  }

  templates(): readonly Template[] {
    return eventTemplates
  }

  complete(variable: string, prefix: string): readonly string[] {
    const { maxGatewayEvents: most } = this.#limits
    const values = variable === 'limit' ? suggestedLimits(most, most) : []
    return values.filter(value => value.startsWith(prefix))
  }

  checkParameters(uri: ResourceUri): void {
    this.#limitOf(uri)
  }

  read(uri: ResourceUri): readonly Content[] {
    if (uri.path !== 'gateway/events') throw new ResourceNotFound(uri.text)
    const limit = this.#limitOf(uri)
    return this.#kept.get(this.#ring.recorded, uri.text, () => this.#ring.text(limit))
  }

  #limitOf(uri: ResourceUri): number {
    const most = this.#limits.maxGatewayEvents
    return limitParameter(uri, most, most)
  }
}
