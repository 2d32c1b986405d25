import { cleanText } from '../../lib/util/text.ts'
import { type Clock, systemClock, toRfc3339 } from '../../lib/util/time.ts'
import { ResourceNotFound } from '../resources/errors.ts'
import type { Content, Template } from '../resources/producer.ts'
import { limitParameter } from '../resources/query-parameters.ts'
import type { ResourceUri } from '../resources/resource-uri.ts'
import { builtIn, type SchemeProducer, textContents } from '../resources/scheme-producer.ts'

/** Events that are kept; the oldest are removed. */
const maxEvents = 1000

/** Characters of each text of an event; longer ones are cut. */
const maxTextChars = 255

/** What happens to a gateway and to the instances it sees (docs/gateway.md). */
export const gatewayEventKinds = [
  'election_won',
  'takeover',
  'contention',
  'voluntary_yield',
  'port_taken',
  'instance_appeared',
  'instance_gone',
  'instance_stale',
  'instance_died',
  'instance_recovered',
  'probe_unreachable',
] as const

export interface GatewayEvent {
  readonly event: (typeof gatewayEventKinds)[number]
  /** Kind of application; the gateway itself by default. */
  readonly dccType?: string
  /** The first 8 digits of an id. */
  readonly instanceId: string
  readonly reason: string
}

const templates: readonly Template[] = builtIn([
  {
    uriTemplate: 'resources://gateway/events{?limit}',
    name: 'Gateway events',
    description:
      'Elections, takeovers, instances that came and went; one JSON object a line, newest last',
    mimeType: 'application/jsonl',
  },
])

/** The last events, in memory, as the scheme `resources://`: read and never pushed. */
export class EventRing implements SchemeProducer {
  readonly #clock: Clock
  readonly #lines: string[] = []

  constructor(clock: Clock = systemClock) {
    this.#clock = clock
  }

  record({ event, dccType = '__gateway__', instanceId, reason }: GatewayEvent): void {
    const line = {
      timestamp: toRfc3339(this.#clock.now()),
      event,
      dcc_type: cleanText(dccType, maxTextChars),
      instance_id: cleanText(instanceId, maxTextChars),
      reason: cleanText(reason, maxTextChars),
    }
    this.#lines.push(`${JSON.stringify(line)}\n`)
    if (this.#lines.length > maxEvents) this.#lines.shift()
  }

  templates(): readonly Template[] {
    return templates
  }

  checkParameters(uri: ResourceUri): void {
    limitParameter(uri, maxEvents, maxEvents)
  }

  read(uri: ResourceUri): readonly Content[] {
    if (uri.path !== 'gateway/events') throw new ResourceNotFound(uri.text)
    const limit = limitParameter(uri, maxEvents, maxEvents)
    return textContents(uri.text, 'application/jsonl', this.#lines.slice(-limit).join(''))
  }
}
