import type { GatewayLimits } from '../../../lib/config/gateway-limits.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import type { Clock, Timer } from '../../../lib/util/time.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../../resources/errors.ts'
import type { MaybePromise } from '../../resources/maybe-promise.ts'
import type { Reader, RelayedContents } from '../../resources/producer.ts'
import type { InstanceDirectory, InstanceEntry } from '../instance-directory.ts'
import type { Joins } from '../join/joins.ts'
import { probeUrl } from '../probes.ts'
import { EndedInstances } from './ended-instances.ts'
import { type Call, InstanceCalls } from './instance-calls.ts'
import { InstanceNames } from './instance-names.ts'
import { InstancePushes } from './instance-pushes.ts'
import { InstanceReads } from './instance-reads.ts'
import { canonicalOuter, drains, outerUri, parseInstanceUri } from './instance-uri.ts'
import { isUnreachable, unreachable } from './relay-errors.ts'
import { AddressTransport } from './address-transport.ts'
import { Upstream } from './upstream.ts'

/** Resources that instances have for themselves. */
export const ownSchemes: ReadonlySet<string> = new Set(['server', 'ui', 'instance'])

/** Instances have so long to end the sessions of a gateway that stops. */
const farewellMs = 250

interface InstancesParts {
  readonly directory: InstanceDirectory
  readonly hostname: string
  /** `<registry_dir>/instances` */
  readonly instancesDir: string
  /** The instances that joined; absent: none can. */
  readonly joins?: Pick<Joins, 'transportOf' | 'onLinked'> | undefined
  /** Is this the address of the gateway itself? */
  readonly isOwn: (url: URL) => boolean
  readonly mayUseKey: () => MaybePromise<boolean>
  readonly clock: Clock
  readonly timer: Timer
  readonly limits: Pick<GatewayLimits, 'instanceAnswerMs' | 'instanceSilenceMs'>
  readonly log: Logger
  /** `uri` as clients of the gateway know it, canonical. */
  readonly updated: (uri: string) => void
  readonly listChanged: () => void
}

/** The gateway's way to one instance. */
interface Relay {
  readonly upstream: Upstream
  readonly reads: InstanceReads
  readonly pushes: InstancePushes
  readonly calls: InstanceCalls
}

/** A resource of an instance, found by its URI at the gateway. */
interface Found {
  readonly instanceId: string
  /** As the instance calls it. */
  readonly inner: string
}

/** The instances whose resources the gateway passes on. */
export class Instances {
  readonly #parts: InstancesParts
  readonly #ended: EndedInstances
  readonly #relays = new Map<string, Relay>()
  readonly names: InstanceNames
  /** Instance id → address, for as long as the directory has these entries. */
  #addresses: { readonly entries: readonly InstanceEntry[]; readonly urls: Map<string, URL> } = {
    entries: [],
    urls: new Map(),
  }
  readonly #stop: () => void

  constructor(parts: InstancesParts) {
    this.#parts = parts
    this.#ended = new EndedInstances(parts)
    this.names = new InstanceNames(parts.directory, this.#ended)
    parts.joins?.onLinked(id => this.#relays.get(id)?.pushes.retry())
    this.#stop = parts.directory.onChange(changes => {
      for (const change of changes) {
        if (!('entry' in change)) continue
        const { instanceId } = change.entry.record
        if (change.kind === 'gone') {
          this.#ended.remember(change.entry)
          this.#notifySubscribers(instanceId)
          this.#free(instanceId)
          continue
        }
        if (this.#ended.forget(instanceId)) this.#notifySubscribers(instanceId)
        if (change.entry.verdict.health === 'dead') continue
        this.#relays.get(instanceId)?.pushes.resume()
      }
    })
  }

  /** Throws `ResourceNotFound` or `ResourceUriInvalid`, also for an unknown instance. */
  find(text: string): Found {
    const parsed = parseInstanceUri(text)
    if (parsed === null || ownSchemes.has(parsed.scheme)) {
      const error = new ResourceNotFound(text)
      error.message += '; the scene of an instance is instance://<id>/scene/current'
      throw error
    }
    return { instanceId: this.names.idOf(parsed.selector, text), inner: parsed.inner }
  }

  /** The one spelling under which updates are announced; undefined: there is no such instance. */
  canonical(text: string): string | undefined {
    const parsed = parseInstanceUri(text)
    const [id, ...others] = parsed === null ? [] : this.names.idsOf(parsed.selector)
    if (parsed === null || id === undefined || others.length > 0) return undefined
    return canonicalOuter(id, parsed)
  }

  /** The contents as they come from the instance. */
  async relay(text: string, reader?: Reader): Promise<RelayedContents> {
    const { instanceId, inner } = this.find(text)
    if (drains(inner)) {
      throw new ResourceUriInvalid('a gateway never drains events: leave out drain')
    }
    return this.#asked(instanceId, relay => relay.reads.read(inner, text, reader), text)
  }

  /** The result of a request to the instance. */
  call(instanceId: string, ...call: Call): Promise<JsonObject> {
    return this.#asked(instanceId, relay => relay.calls.ask(...call))
  }

  /** `uri`: canonical, without its query. The promise is of the time when updates arrive. */
  follow(uri: string): Promise<void> {
    try {
      const { instanceId, inner } = this.find(uri)
      this.assertThere(instanceId, uri)
      return this.relayTo(instanceId).pushes.follow(inner)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  unfollow(uri: string): void {
    const parsed = parseInstanceUri(uri)
    if (parsed === null) return
    this.#relays.get(parsed.selector)?.pushes.unfollow(parsed.inner)
    if (this.#ended.has(parsed.selector)) this.#free(parsed.selector)
  }

  /** Throws for an instance that has ended; `uri`: what was asked for. */
  assertThere(instanceId: string, uri?: string): void {
    const error = this.#ended.errorOf(instanceId, uri)
    if (error !== null) throw error
  }

  /** After a failure: the error of an instance that has ended meanwhile. */
  async goneNow(instanceId: string, uri?: string): Promise<ServiceError | null> {
    await this.#parts.directory.refresh()
    return this.#ended.errorOf(instanceId, uri)
  }

  relayTo(instanceId: string): Relay {
    const known = this.#relays.get(instanceId)
    if (known !== undefined) return known
    const { instancesDir, mayUseKey, timer, limits, log, updated, listChanged } = this.#parts
    const locate = () => this.#locate(instanceId)
    const address = { instanceId, locate, mayUseKey, instancesDir, timer }
    const transport = this.#parts.joins?.transportOf(instanceId) ?? new AddressTransport(address)
    const upstream = new Upstream(instanceId, transport)
    const relay = {
      upstream,
      reads: new InstanceReads({ instanceId, upstream, timer, limits }),
      pushes: new InstancePushes({
        ...{ upstream, listChanged, timer, limits, log },
        updated: inner => updated(outerUri(instanceId, inner) ?? inner),
        gone: () => this.goneNow(instanceId),
      }),
      calls: new InstanceCalls({ instanceId, upstream, timer, limits, log }),
    }
    this.#relays.set(instanceId, relay)
    return relay
  }

  async close(): Promise<void> {
    this.#stop()
    const relays = [...this.#relays.values()]
    const disconnect = () => {
      for (const { upstream } of relays) upstream.close()
    }
    const cancel = this.#parts.timer.after(farewellMs, disconnect)
    await Promise.all(relays.map(({ pushes }) => pushes.close()))
    cancel()
    disconnect()
  }

  async #asked<Answer>(
    instanceId: string,
    ask: (relay: Relay) => Promise<Answer>,
    uri?: string,
  ): Promise<Answer> {
    this.assertThere(instanceId, uri)
    try {
      return await ask(this.relayTo(instanceId))
    } catch (error) {
      if (!isUnreachable(error)) throw error
      throw (await this.goneNow(instanceId, uri)) ?? error
    }
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
    const relay = this.#relays.get(instanceId)
    if (relay === undefined || relay.pushes.isFollowed) return
    this.#relays.delete(instanceId)
    void relay.pushes.close().then(() => relay.upstream.close())
  }

  /** Subscribers are notified: they read, and learn what became of the instance. */
  #notifySubscribers(instanceId: string): void {
    for (const inner of this.#relays.get(instanceId)?.pushes.uris ?? []) {
      this.#parts.updated(outerUri(instanceId, inner) ?? inner)
    }
  }
}
