import { cleanText } from '../../lib/util/text.ts'
import { type Clock, systemClock, toRfc3339 } from '../../lib/util/time.ts'
import type { GatewayLimits } from '../../lib/config/gateway-limits.ts'

/** What happens to a gateway and to the instances it sees (docs/gateway-resources.md). */
export const gatewayEventKinds = [
  'election_won',
  'takeover',
  'contention',
  'voluntary_yield',
  'resident_unresponsive',
  'resident_recovered',
  'port_taken',
  'instance_appeared',
  'instance_gone',
  'instance_stale',
  'instance_died',
  'instance_recovered',
  'probe_unreachable',
  'probe_booting',
  'ghost_reaped',
  'record_fault',
  'record_mended',
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

type RingLimits = Pick<GatewayLimits, 'maxGatewayEvents' | 'maxGatewayEventTextChars'>

/** Times are milliseconds of the epoch. */
export interface TimedEvent extends GatewayEvent {
  readonly atMs: number
}

interface Recorded extends TimedEvent {
  readonly number: number
  /** Each gateway that sees the link sees it, and the database has it with the change. */
  readonly isOfLink: boolean
}

/** The events that several gateways share. */
export interface EventTable {
  /** Events that were written before, by their number, are not written again. */
  write(events: (GatewayEvent & { number: number; ageMs: number })[]): Promise<void>
  /** The newest, oldest first. Null: they are still those of the version `known`. */
  read(
    known: string | null,
  ): Promise<{ readonly version: string; readonly events: readonly TimedEvent[] } | null>
}

interface Sharing {
  readonly table: EventTable
  /** Whether a change of the instance's link, which this gateway sees first, is not written yet. */
  isUnwritten(instanceId: string): boolean
  /** There is something to write. */
  due(): void
}

/**
 * The last events as JSON lines, in memory. When gateways share them: those that were read last,
 * followed by those that are not written yet.
 */
export class EventRing {
  readonly #limits: RingLimits
  readonly #clock: Clock
  #sharing: Sharing | null = null
  #version: string | null = null
  #shared: readonly TimedEvent[] = []
  #own: Recorded[] = []
  #recorded = 0
  #changes = 0

  constructor(limits: RingLimits, clock: Clock = systemClock) {
    this.#limits = limits
    this.#clock = clock
  }

  /** How often the text changed. */
  get changes(): number {
    return this.#changes
  }

  /** `joinedId`: the instance that joined, when the event is of its link. */
  record(event: GatewayEvent, joinedId: string | null = null): void {
    const isOfLink = joinedId !== null
    if (isOfLink && this.#sharing?.isUnwritten(joinedId) === false) return
    const [number, atMs] = [++this.#recorded, this.#clock.now()]
    this.#own.push({ ...this.#cleaned(event), number, atMs, isOfLink })
    if (this.#own.length > this.#limits.maxGatewayEvents) this.#own.shift()
    this.#changes++
    if (!isOfLink) this.#sharing?.due()
  }

  /** From now on the events are those of all gateways with this table. */
  share(sharing: Sharing): void {
    this.#sharing = sharing
  }

  /** Writes and reads the table. `areLinksWritten`: so are all changes of own links. */
  async sync(areLinksWritten: boolean): Promise<void> {
    if (this.#sharing === null) return
    const { table } = this.#sharing
    const own = this.#own.filter(({ isOfLink }) => !isOfLink)
    const written = new Set(areLinksWritten ? this.#own : own)
    const nowMs = this.#clock.now()
    const due = own.map(each => ({ ...each, ageMs: Math.max(0, nowMs - each.atMs) }))
    if (due.length > 0) await table.write(due)
    const read = await table.read(this.#version)
    if (read === null && written.size === 0) return
    if (read !== null) {
      this.#version = read.version
      this.#shared = read.events.map(each => ({ ...this.#cleaned(each), atMs: each.atMs }))
    }
    this.#own = this.#own.filter(each => !written.has(each))
    this.#changes++
  }

  /** The newest `limit` events, oldest of them first; empty when there are none. */
  text(limit: number = this.#limits.maxGatewayEvents): string {
    const events = [...this.#shared, ...this.#own]
    return events
      .slice(Math.max(0, events.length - limit))
      .map(lineOf)
      .join('')
  }

  /** Also what another gateway or PostgreSQL wrote is cut. */
  #cleaned({ event, dccType = ownDccType, instanceId = 'gateway', reason }: GatewayEvent) {
    const clean = (text: string) => cleanText(text, this.#limits.maxGatewayEventTextChars)
    return {
      event,
      dccType: clean(dccType),
      instanceId: clean(instanceId),
      ...(reason === undefined ? {} : { reason: clean(reason) }),
    }
  }
}

function lineOf({ atMs, event, dccType, instanceId, reason }: TimedEvent): string {
  const line = { timestamp: toRfc3339(atMs), event, dcc_type: dccType, instance_id: instanceId }
  return `${JSON.stringify({ ...line, reason })}\n`
}
