import type { GatewayLimits } from '../../../lib/config/gateway-limits.ts'
import type { JoinLimits } from '../../../lib/config/join-limits.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { ok, type Result } from '../../../lib/util/result.ts'
import { type Clock, pause, type Timer } from '../../../lib/util/time.ts'
import { listen, oneAtATime } from '../../database/listener.ts'
import { migrate } from '../../database/migrations.ts'
import { Outage } from '../../database/outage.ts'
import type { Database } from '../../database/pool.ts'
import type { EventRing } from '../event-ring.ts'
import type { InstanceChange } from '../instance-directory.ts'
import type { PeerClient } from '../peers/peer-client.ts'
import type { Peers } from '../peers/peers.ts'
import { eventsTable } from '../postgres/events-table.ts'
import {
  type GatewayRow,
  joinedChannel,
  type JoinedRow,
  joinedTable,
  type JoinedTable,
  joinedWrite,
  toldOf,
} from '../postgres/joined-table.ts'
import { migrations } from '../postgres/schema.ts'
import { unreachable } from '../relay/relay-errors.ts'
import type { JoinedDirectory, Joining, Membership } from './joined-directory.ts'
import { JoinedView } from './joined-view.ts'
import { keepLease } from './keep-lease.ts'
import type { LinkClient } from './link-client.ts'
import type { ToldRecord } from './told-record.ts'

interface SharedJoinedParts {
  /** Closed with the directory. */
  readonly database: Database
  readonly self: GatewayRow
  readonly peers: Peers
  /** Shared with the other gateways from now on. */
  readonly ring: EventRing
  readonly limits: GatewayLimits & JoinLimits
  readonly clock: Clock
  readonly timer: Timer
  readonly log: Logger
}

/** An instance whose link this gateway holds, or held until an end that is not in the database yet. */
interface Own extends Omit<Joining, 'told'> {
  readonly link: number
  told: ToldRecord
  /** Null while the link is open. */
  end: { readonly cause: string; readonly isOver: boolean; readonly atMs: number } | null
  isWritten: boolean
}

/**
 * The instances that joined any of the gateways of a PostgreSQL database. What this gateway knows of
 * its own links counts at once, also while the database is away; of the others it knows what it
 * read last.
 */
export class SharedJoined extends JoinedView implements JoinedDirectory {
  readonly #parts: SharedJoinedParts
  readonly #table: JoinedTable
  readonly #own = new Map<string, Own>()
  readonly #rows = new Map<string, JoinedRow>()
  /** Ids whose link may be in the database before it is in `#own`. */
  readonly #admitting = new Set<string>()
  /** Being written now: a row that is read meanwhile may be older. */
  #writing: readonly Own[] = []
  readonly #stops: (() => void)[] = []
  readonly #closing = new AbortController()
  readonly outage: Outage
  readonly #read = oneAtATime(() => this.#readOnce())
  readonly #write = oneAtATime(() => this.#writeOnce())

  private constructor(parts: SharedJoinedParts) {
    super({ ...parts, maxFaults: parts.limits.maxRecordFaults })
    this.#parts = parts
    this.#table = joinedTable(parts)
    const effect = 'no instance can join'
    this.outage = new Outage({ ...parts, effect, over: () => void this.#write() })
  }

  /** Creates missing tables, and reads them. */
  static async open(parts: SharedJoinedParts): Promise<SharedJoined> {
    await migrate(parts.database, 'gateway', migrations)
    const joined = new SharedJoined(parts)
    parts.ring.share({
      table: eventsTable(parts.database, parts.self.id, parts.limits),
      isUnwritten: instanceId => joined.#own.get(instanceId)?.isWritten === false,
      due: () => void joined.#read(),
    })
    await joined.#table.renew()
    await joined.#read()
    const pollMs = parts.limits.gatewayRenewMs
    joined.#stops.push(
      parts.peers.onRecovered(gateway => joined.#tellAllLinked(gateway)),
      listen({ ...parts, channel: joinedChannel, reread: () => joined.#read(), pollMs }),
      keepLease({ ...parts, table: joined.#table, outage: joined.outage }),
    )
    return joined
  }

  get unavailable(): string | null {
    return this.outage.isNow ? 'the database of the gateway is away' : null
  }

  /** Does nothing while the database is away. */
  async refresh(): Promise<void> {
    if (!this.outage.isNow) await this.#read()
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop()
    this.#closing.abort()
    this.clear()
    if (!this.outage.isNow) await this.#read()
    // Else the others see its lease run out.
    if (!this.outage.isNow) await this.#table.leave().catch(() => {})
    this.#parts.peers.close()
    await this.#parts.database.close()
  }

  async admit(joining: Joining): Promise<Result<Membership, string>> {
    const { instanceId } = joining.told.record
    this.#admitting.add(instanceId)
    try {
      const admitted = await this.#table.admit(joinedWrite(joining.told))
      if (!admitted.ok) return admitted
      const own: Own = { ...joining, link: admitted.value, end: null, isWritten: true }
      return ok(this.#begin(instanceId, own))
    } catch (error) {
      this.outage.failed(error)
      throw error
    } finally {
      this.#admitting.delete(instanceId)
    }
  }

  /** Null: this gateway does not hold the link of the instance. */
  linkOf(instanceId: string): LinkClient | null {
    const own = this.#own.get(instanceId)
    return own?.end === null ? own.client : null
  }

  #begin(instanceId: string, own: Own): Membership {
    const before = this.#own.get(instanceId)
    this.#own.set(instanceId, own)
    if (before?.end === null) before.replaced()
    this.tell(this.show(own.told.record, null))
    this.tellLinked(instanceId)
    const isCurrent = (): boolean => {
      // Without an entry in `#own` its loss is in the database.
      const now = this.#own.get(instanceId) ?? this.#rows.get(instanceId)
      return now?.link === own.link && !('isOver' in now ? now.isOver : now.end?.isOver)
    }
    const change = (next: Partial<Pick<Own, 'told' | 'end'>>): void => {
      if (!isCurrent()) return
      this.#own.set(instanceId, Object.assign(own, next, { isWritten: false }))
      this.tell(this.#showOwn(own))
      void this.#write()
    }
    const ending = (isOver: boolean) => (cause: string) =>
      change({ end: { cause, isOver, atMs: this.#parts.clock.now() } })
    return { change: told => change({ told }), lose: ending(false), end: ending(true) }
  }

  #showOwn({ told: { record }, end }: Own): InstanceChange[] {
    if (end?.isOver) return this.end(record.instanceId, end.cause)
    return this.show(record, end && { reason: end.cause, atMs: end.atMs })
  }

  /** `mayMove`: the link is located again when the gateway does not hold it any more. */
  protected override clientOf(instanceId: string, mayMove = true): LinkClient | PeerClient {
    const link = this.linkOf(instanceId)
    if (link !== null) return link
    const own = this.#own.get(instanceId)
    const row = this.#rows.get(instanceId)
    if (own !== undefined || row === undefined || row.gateway === null) {
      throw unreachable(`its link is lost: ${own?.end?.cause ?? row?.cause ?? 'it has left'}`)
    }
    const locate = async () => {
      await this.refresh()
      return this.clientOf(instanceId, false)
    }
    return this.#parts.peers.clientOf(row.gateway, instanceId, mayMove ? locate : null)
  }

  /** Instances whose link `gateway` holds can be reached again. */
  #tellAllLinked(gateway: string): void {
    for (const row of this.#rows.values()) {
      if (row.gateway === gateway) this.tellLinked(row.instanceId)
    }
  }

  async #readOnce(): Promise<void> {
    const known = new Map(Array.from(this.#rows.values(), row => [row.instanceId, row.change]))
    try {
      await this.#parts.ring.sync(this.#isWritten)
      const { gateways, ids, rows } = await this.#table.read(known)
      this.outage.answered()
      this.#parts.peers.update(gateways.filter(({ id }) => id !== this.#parts.self.id))
      const present = new Set(ids)
      const gone = [...this.#rows.keys()].filter(id => !present.has(id))
      this.#take(rows, gone)
    } catch (error) {
      this.outage.failed(error)
    }
  }

  #take(rows: JoinedRow[], gone: string[]): void {
    const linked: string[] = []
    for (const id of gone) this.#rows.delete(id)
    for (const row of rows) {
      const { instanceId, link, gateway } = row
      if (gateway !== null && link !== this.#rows.get(instanceId)?.link) linked.push(instanceId)
      this.#rows.set(instanceId, row)
    }
    const changed = [...gone, ...rows.map(({ instanceId }) => instanceId)]
    const ids = new Set([...changed, ...this.#own.keys()])
    this.tell([...ids].flatMap(id => this.#settle(id)))
    for (const id of linked) if (!this.#own.has(id)) this.tellLinked(id)
    if (!this.#isWritten) void this.#write()
  }

  get #isWritten(): boolean {
    return this.#own.values().every(({ isWritten }) => isWritten)
  }

  /** Lists an instance by what this gateway knows or by its row, whichever is newer. */
  #settle(instanceId: string): InstanceChange[] {
    const row = this.#rows.get(instanceId)
    const own = this.#own.get(instanceId)
    const isHeld = row?.gateway === this.#parts.self.id
    if (own === undefined) {
      // It was written, but the answer of the database was lost.
      if (row !== undefined && isHeld && !this.#admitting.has(instanceId)) {
        void this.#table
          .write([{ ...row, end: { cause: 'the connection was cut', isOver: false } }])
          .catch((error: unknown) => this.outage.failed(error))
      }
      return this.#showRow(instanceId, row)
    }
    if (row !== undefined && row.link > own.link) {
      this.#own.delete(instanceId)
      if (own.end === null) own.replaced()
      return this.#showRow(instanceId, row)
    }
    // The row was read before the link was written.
    if (row !== undefined && row.link < own.link) return []
    if (own.end === null) {
      // Another gateway ended the lease of this one.
      if (!isHeld) own.isWritten = false
      return []
    }
    if (!own.isWritten || this.#writing.includes(own) || isHeld) return []
    this.#own.delete(instanceId)
    const isSame = row !== undefined && row.gateway === null && row.isOver === own.end.isOver
    return isSame ? [] : this.#showRow(instanceId, row)
  }

  #showRow(instanceId: string, row: JoinedRow | undefined): InstanceChange[] {
    if (row === undefined) return this.end(instanceId, 'it has left')
    if (row.isOver) return this.end(instanceId, row.cause)
    const { limits, clock } = this.#parts
    const told = toldOf(row, limits)
    if (!told.ok) {
      const source = `joined instance ${instanceId}`
      return this.fault(instanceId, { source, reason: told.failure })
    }
    const atMs = clock.now() - (row.lostMs ?? 0)
    const lost = row.gateway === null ? { reason: row.cause, atMs } : null
    return this.show(told.value.record, lost)
  }

  async #writeOnce(): Promise<void> {
    const { timer, limits } = this.#parts
    const due = [...this.#own.values()].filter(({ isWritten }) => !isWritten)
    if (due.length === 0 || this.#closing.signal.aborted) return
    this.#writing = due
    for (const own of due) own.isWritten = true
    try {
      const states = due.map(({ told, link, end }) => ({ ...joinedWrite(told), link, end }))
      await this.#table.write(states)
      this.outage.answered()
    } catch (error) {
      for (const own of due) own.isWritten = false
      this.outage.failed(error)
    }
    this.#writing = []
    await pause(timer, limits.recordGatherMs, this.#closing.signal)
  }
}
