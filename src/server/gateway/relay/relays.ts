import type { GatewayLimits } from '../limits.ts'
import type { ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import type { Clock, Timer } from '../../../lib/util/time.ts'
import type { InstanceDirectory, InstanceEntry } from '../instance-directory.ts'
import type { JoinedInstances } from '../join/joined-instances.ts'
import { probeUrl } from '../probes.ts'
import { AddressTransport } from './address-transport.ts'
import { EndedInstances } from './ended-instances.ts'
import { InstanceCalls } from './instance-calls.ts'
import { InstancePushes } from './instance-pushes.ts'
import { adaptLink } from './link-adapter.ts'
import { addressBounds, InstanceReads, linkBounds } from './instance-reads.ts'
import { unreachable } from './relay-errors.ts'
import { Upstream } from './upstream.ts'

/** Instances have so long to end the sessions of a gateway that stops. */
const farewellMs = 250

interface RelaysParts {
  readonly directory: InstanceDirectory
  readonly hostname: string
  /** `<registry_dir>/instances` */
  readonly instancesDir: string
  /** The instances that joined; absent: none can. */
  readonly joined?: Pick<JoinedInstances, 'transportOf'>
  /** Whether this is the address of the gateway itself. */
  readonly isOwn: (url: URL) => boolean
  readonly mayUseKey: () => Promise<boolean>
  readonly clock: Clock
  readonly timer: Timer
  readonly limits: Pick<GatewayLimits, 'instanceAnswerMs' | 'instanceSilenceMs'>
  readonly log: Logger
}

/** The gateway's way to one instance. */
export interface Relay {
  readonly upstream: Upstream
  readonly reads: InstanceReads
  readonly calls: InstanceCalls
}

/** Told of changes of what it follows. */
export interface Follower {
  /** `inner`: as the instance calls it. */
  updated(instanceId: string, inner: string): void
  /** An instance that it follows lists other resources. */
  listChanged(): void
}

interface Followed {
  readonly accepted: Promise<void>
  readonly followers: Set<Follower>
}

interface Way extends Relay {
  readonly pushes: InstancePushes
  /** URI, as the instance calls it → who follows it. */
  readonly followed: Map<string, Followed>
}

/** The ways to all instances; each URI has one subscription at its instance, however many follow it. */
export class Relays {
  readonly #parts: RelaysParts
  readonly #ended: EndedInstances
  readonly #ways = new Map<string, Way>()
  /** Instance id → address, for as long as the directory has these entries. */
  #addresses: { readonly entries: readonly InstanceEntry[]; readonly urls: Map<string, URL> } = {
    entries: [],
    urls: new Map(),
  }
  readonly #stop: () => void

  constructor(parts: RelaysParts) {
    this.#parts = parts
    this.#ended = new EndedInstances(parts)
    this.#stop = parts.directory.onChange(changes => {
      for (const change of changes) {
        if (!('entry' in change)) continue
        const { instanceId } = change.entry.record
        if (change.kind === 'gone') {
          this.#ended.remember(change.entry)
          this.#free(instanceId)
          continue
        }
        this.#ended.forget(instanceId)
        if (change.entry.verdict.health === 'dead') continue
        this.#ways.get(instanceId)?.pushes.resume()
        const { record, verdict } = change.entry
        if (record.joined && verdict.health === 'live') this.#ways.get(instanceId)?.pushes.retry()
      }
    })
  }

  to(instanceId: string): Relay {
    return this.#wayTo(instanceId)
  }

  /** Resolves when updates of the URI arrive; rejects with a `ServiceError`. */
  follow(follower: Follower, instanceId: string, inner: string): Promise<void> {
    const { pushes, followed } = this.#wayTo(instanceId)
    let known = followed.get(inner)
    if (known === undefined) {
      const accepted = pushes.follow(inner)
      known = { accepted, followers: new Set() }
      followed.set(inner, known)
      // The next follower asks the instance again.
      accepted.catch(() => {
        if (followed.get(inner) === known) followed.delete(inner)
      })
    }
    known.followers.add(follower)
    return known.accepted
  }

  unfollow(follower: Follower, instanceId: string, inner: string): void {
    const way = this.#ways.get(instanceId)
    const known = way?.followed.get(inner)
    if (way === undefined || known?.followers.delete(follower) !== true) return
    if (known.followers.size > 0) return
    way.followed.delete(inner)
    way.pushes.unfollow(inner)
    if (this.#ended.has(instanceId)) this.#free(instanceId)
  }

  async close(): Promise<void> {
    this.#stop()
    const ways = [...this.#ways.values()]
    const disconnect = () => {
      for (const { upstream } of ways) upstream.close()
    }
    const cancel = this.#parts.timer.after(farewellMs, disconnect)
    await Promise.all(ways.map(({ pushes }) => pushes.close()))
    cancel()
    disconnect()
  }

  #wayTo(instanceId: string): Way {
    const known = this.#ways.get(instanceId)
    if (known !== undefined) return known
    const { instancesDir, mayUseKey, timer, limits, log } = this.#parts
    const locate = () => this.#locate(instanceId)
    const address = { instanceId, locate, mayUseKey, instancesDir, timer }
    const link = this.#parts.joined?.transportOf(instanceId)
    const bounds = link ? linkBounds : addressBounds
    const transport = link ? adaptLink(link) : new AddressTransport(address)
    const upstream = new Upstream(instanceId, transport)
    const followed: Way['followed'] = new Map()
    const way = {
      upstream,
      followed,
      reads: new InstanceReads({ instanceId, upstream, timer, bounds, limits }),
      pushes: new InstancePushes({
        upstream,
        timer,
        limits,
        log,
        updated: inner => {
          for (const each of followed.get(inner)?.followers ?? []) each.updated(instanceId, inner)
        },
        listChanged: () => {
          const all = [...followed.values()].flatMap(({ followers }) => [...followers])
          for (const each of new Set(all)) each.listChanged()
        },
        gone: () => this.#goneNow(instanceId),
      }),
      calls: new InstanceCalls({ instanceId, upstream, timer, limits }),
    }
    this.#ways.set(instanceId, way)
    return way
  }

  async #goneNow(instanceId: string): Promise<ServiceError | null> {
    await this.#parts.directory.refresh()
    return this.#ended.errorOf(instanceId)
  }

  #locate(instanceId: string): URL {
    const { directory, hostname, isOwn } = this.#parts
    const { entries } = directory
    if (this.#addresses.entries !== entries) this.#addresses = { entries, urls: new Map() }
    const { urls } = this.#addresses
    const known = urls.get(instanceId)
    if (known !== undefined) return known
    const entry = entries.find(({ record }) => record.instanceId === instanceId)
    if (entry === undefined) throw unreachable('it is not known any more')
    const at = probeUrl(entry.record, hostname)
    if (!at.ok) throw unreachable(at.failure)
    if (isOwn(at.value)) throw unreachable('its address is that of this gateway')
    const url = new URL('/mcp', at.value)
    urls.set(instanceId, url)
    return url
  }

  /** Forgets the way to an instance without a record that no client follows. */
  #free(instanceId: string): void {
    const way = this.#ways.get(instanceId)
    if (way === undefined || way.pushes.isFollowed) return
    this.#ways.delete(instanceId)
    void way.pushes.close().then(() => way.upstream.close())
  }
}
