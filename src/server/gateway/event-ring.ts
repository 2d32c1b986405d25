import { cleanText } from '../../lib/util/text.ts'
import { type Clock, systemClock, toRfc3339 } from '../../lib/util/time.ts'

/** Events that are kept; the oldest are removed. */
export const maxGatewayEvents = 1000

/** Characters of each text of an event; longer ones are cut. */
const maxGatewayEventTextChars = 255

/** What happens to a gateway and to the instances it sees (docs/gateway-resources.md). */
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
  'ghost_reaped',
] as const

export type GatewayEventKind = (typeof gatewayEventKinds)[number]

export interface GatewayEvent {
  readonly event: GatewayEventKind
  /** Kind of application; the gateway itself by default. */
  readonly dccType?: string
  /** The first 8 digits of an id, or a label. */
  readonly instanceId?: string
  readonly reason?: string
}

const ownDccType = '__gateway__'

/** The last events as JSON lines, in memory. */
export class EventRing {
  readonly #clock: Clock
  readonly #lines: string[] = []
  #changes = 0

  constructor(clock: Clock = systemClock) {
    this.#clock = clock
  }

  /** How often the text changed. */
  get changes(): number {
    return this.#changes
  }

  record({ event, dccType = ownDccType, instanceId = 'gateway', reason }: GatewayEvent): void {
    this.#changes++
    const line = {
      timestamp: toRfc3339(this.#clock.now()),
      event,
      dcc_type: this.#clean(dccType),
      instance_id: this.#clean(instanceId),
      reason: reason === undefined ? undefined : this.#clean(reason),
    }
    this.#lines.push(`${JSON.stringify(line)}\n`)
    if (this.#lines.length > maxGatewayEvents) this.#lines.shift()
  }

  /** The newest `limit` events, oldest of them first; empty when there are none. */
  text(limit: number = maxGatewayEvents): string {
    return this.#lines.slice(Math.max(0, this.#lines.length - limit)).join('')
  }

  #clean(text: string): string {
    return cleanText(text, maxGatewayEventTextChars)
  }
}
