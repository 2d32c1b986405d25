import { minPrefixChars, selectInstance, shortIds } from '../../../lib/instances/select-instance.ts'
import type { GatewayLimits } from '../../../lib/config/gateway-limits.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { type Clock, type Timer, toRfc3339 } from '../../../lib/util/time.ts'
import type { Reader, RelayedContents } from '../../resources/producer.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../../resources/errors.ts'
import type { InstanceDirectory, InstanceEntry } from '../instance-directory.ts'
import { idPrefix, lookUpInstance } from '../instance-query.ts'
import { shortId } from '../instance-rows.ts'
import { probeUrl } from '../probes.ts'
import { InstancePushes } from './instance-pushes.ts'
import { InstanceReads } from './instance-reads.ts'
import { canonicalOuter, outerUri, parseInstanceUri } from './instance-uri.ts'
import { unreachable } from './relay-errors.ts'
import { Upstream } from './upstream.ts'

/** Instances that ended and are remembered, so that readers are told. */
const maxGone = 1000
/** Resources that instances have for themselves. */
const ownSchemes: ReadonlySet<string> = new Set(['server', 'ui', 'instance'])

export interface InstancesParts {
  readonly directory: InstanceDirectory
  readonly hostname: string
  /** `<registry_dir>/instances` */
  readonly instancesDir: string
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
}

interface Gone {
  readonly entry: InstanceEntry
  readonly lastSeenMs: number | null
  readonly cause: string | null
}

/** A resource of an instance, found by its URI at the gateway. */
export interface Found {
  readonly instanceId: string
  readonly scheme: string
  readonly inner: string
}

/** The instances whose resources the gateway passes on. */
export class Instances {
  readonly #parts: InstancesParts
  readonly #relays = new Map<string, Relay>()
  readonly #gone = new Map<string, Gone>()
  readonly #stop: () => void

  constructor(parts: InstancesParts) {
    this.#parts = parts
    this.#stop = parts.directory.onChange(changes => {
      for (const change of changes) {
        if (!('entry' in change)) continue
        const { instanceId } = change.entry.record
        if (change.kind === 'gone') this.#remember(change.entry)
        if (change.kind === 'appeared' && this.#gone.delete(instanceId)) {
          this.#tellFollowers(instanceId)
        }
        if (change.kind !== 'gone' && change.entry.verdict.health !== 'dead') {
          this.#relays.get(instanceId)?.pushes.resume()
        }
      }
    })
  }

  /** Those that run, in their order. */
  get live(): readonly InstanceEntry[] {
    return this.#parts.directory.entries.filter(({ verdict }) => verdict.health !== 'dead')
  }

  /** Throws `ResourceNotFound` or `ResourceUriInvalid`, also for an unknown instance. */
  find(text: string): Found {
    const parsed = parseInstanceUri(text)
    if (parsed === null || ownSchemes.has(parsed.scheme)) {
      const error = new ResourceNotFound(text)
      error.message += '; the scene of an instance is instance://<id>/scene/current'
      throw error
    }
    const { selector, scheme, inner } = parsed
    return { instanceId: this.#idOf(selector, text), scheme, inner }
  }

  /** The one spelling under which updates are announced; undefined: there is no such instance. */
  canonical(text: string): string | undefined {
    const parsed = parseInstanceUri(text)
    if (parsed === null) return undefined
    try {
      return canonicalOuter(this.#idOf(parsed.selector, text), parsed)
    } catch {
      return undefined
    }
  }

  /** The instance that a word of a caller names: an id, a kind, a document; absent: the only one. */
  choose(word: string | undefined): InstanceEntry {
    const named = this.live.map(entry => {
      const { instanceId: id, dccType, displayName, scene } = entry.record
      return { id, dccType, displayName, scene, entry }
    })
    const selected = selectInstance(named, word)
    switch (selected.kind) {
      case 'one':
        return selected.instance.entry
      case 'too_short':
        throw notNamed(`"${word}" is too short: at least ${minPrefixChars} digits of the id`)
      case 'several':
      case 'none': {
        const gone = word === undefined ? null : this.#goneOf(word)
        if (gone !== null) throw this.#goneError(gone)
        const candidates = selected.kind === 'several' ? selected.instances : named
        const ids = shortIds(candidates)
        const lines = candidates.map(({ entry }, at) => `${ids[at]}: ${labelOf(entry)}`)
        if (lines.length === 0) throw notNamed('no instance runs on this machine')
        const which = word === undefined ? '' : ` as "${word}"`
        const found =
          selected.kind === 'several'
            ? `${lines.length} instances run${which}`
            : `no instance runs${which}`
        throw notNamed(`${found}; name one of them as "instance":\n${lines.join('\n')}`)
      }
    }
  }

  /** The contents as they come from the instance. */
  async relay(text: string, reader?: Reader): Promise<RelayedContents> {
    const { instanceId, inner } = this.find(text)
    const query = new URLSearchParams(inner.slice(inner.indexOf('?') + 1))
    if (!['false', '0'].includes(query.get('drain') ?? 'false')) {
      throw new ResourceUriInvalid('a gateway never drains events: leave out drain')
    }
    this.assertThere(instanceId)
    try {
      return await this.relayTo(instanceId).reads.read(inner, text, reader)
    } catch (error) {
      throw (await this.goneNow(instanceId, error)) ?? error
    }
  }

  /** `uri`: canonical, without its query. The promise is of the time when updates arrive. */
  follow(uri: string): Promise<void> {
    try {
      const { instanceId, inner } = this.find(uri)
      this.assertThere(instanceId)
      return this.relayTo(instanceId).pushes.follow(inner)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  unfollow(uri: string): void {
    const parsed = parseInstanceUri(uri)
    if (parsed !== null) this.#relays.get(parsed.selector)?.pushes.unfollow(parsed.inner)
  }

  /** Throws for an instance that has ended. */
  assertThere(instanceId: string): void {
    const gone = this.#goneOf(instanceId)
    if (gone !== null) throw this.#goneError(gone)
  }

  relayTo(instanceId: string): Relay {
    const known = this.#relays.get(instanceId)
    if (known !== undefined) return known
    const { directory, hostname, instancesDir, timer, limits, log } = this.#parts
    const entry = directory.entries.find(({ record }) => record.instanceId === instanceId)
    if (entry === undefined) throw unreachable('it is not known any more')
    const at = probeUrl(entry.record, hostname)
    if (!at.ok) throw unreachable(at.failure)
    const url = new URL('/mcp', at.value)
    const upstream = new Upstream({ record: entry.record, url, instancesDir, timer })
    const { updated, listChanged } = this.#parts
    const relay = {
      upstream,
      reads: new InstanceReads({ instanceId, upstream, timer, limits }),
      pushes: new InstancePushes({
        ...{ upstream, listChanged, timer, limits, log },
        updated: inner => updated(outerUri(instanceId, inner) ?? inner),
        gone: () => this.goneNow(instanceId),
      }),
    }
    this.#relays.set(instanceId, relay)
    return relay
  }

  async close(): Promise<void> {
    this.#stop()
    const relays = [...this.#relays.values()]
    await Promise.all(relays.map(({ pushes }) => pushes.close()))
    for (const { upstream } of relays) upstream.close()
  }

  #idOf(selector: string, text: string): string {
    const found = lookUpInstance(this.#parts.directory.entries, selector)
    if (found.ok) return found.value.record.instanceId
    const { failure } = found
    if (failure.kind === 'none') {
      const gone = this.#goneOf(selector)
      if (gone !== null) return gone.entry.record.instanceId
      const error = new ResourceNotFound(text)
      error.message += '; no such instance is known, gateway://instances has the ids'
      throw error
    }
    const why = failure.kind === 'ambiguous' ? 'several instances begin with' : 'too short are'
    throw new ResourceUriInvalid(`${why} the digits "${selector}"`, {
      hint: 'gateway://instances has the ids',
      data: { uri: text },
    })
  }

  /** An instance that has ended, dead ones that are still listed included. */
  #goneOf(selector: string): Gone | null {
    const { clock, directory } = this.#parts
    const found = lookUpInstance(directory.entries, selector)
    if (found.ok) {
      const { verdict } = found.value
      if (verdict.health !== 'dead') return null
      const { heartbeatAgeMs: ageMs, reason } = verdict
      const lastSeenMs = ageMs === null ? null : clock.now() - ageMs
      return { entry: found.value, lastSeenMs, cause: reason }
    }
    const digits = idPrefix(selector)
    if (digits === null || digits.length < minPrefixChars) return null
    const ids = [...this.#gone.keys()].filter(id => idPrefix(id)?.startsWith(digits))
    return ids.length === 1 ? (this.#gone.get(ids[0]!) ?? null) : null
  }

  /** After a failure: whether the instance has ended meanwhile. */
  async goneNow(instanceId: string, error?: unknown): Promise<ServiceError | null> {
    const isOther = error instanceof ServiceError && error.code !== 'resource_failed'
    if (isOther) return null
    await this.#parts.directory.refresh()
    const gone = this.#goneOf(instanceId)
    return gone === null ? null : this.#goneError(gone)
  }

  #goneError({ entry, lastSeenMs, cause }: Gone): ServiceError {
    const { instanceId } = entry.record
    const seen = lastSeenMs === null ? 'unknown' : toRfc3339(lastSeenMs)
    const message = `${labelOf(entry)} (${shortId(instanceId)}) has ended; last seen: ${seen}; cause: ${cause ?? 'unknown'}`
    const uri = `gateway://instances/${instanceId}`
    return new ServiceError('resource_not_found', message, {
      hint: 'gateway://instances has those that run',
      data: { uri, reason: 'instance_gone', instance_id: instanceId, last_seen: seen, cause },
    })
  }

  #remember(entry: InstanceEntry): void {
    const { instanceId } = entry.record
    const { health, reason } = entry.verdict
    const cause = health === 'dead' ? reason : 'it stopped and took its record away'
    this.#gone.set(instanceId, { entry, lastSeenMs: this.#parts.clock.now(), cause })
    const [oldest] = this.#gone.keys()
    if (this.#gone.size > maxGone && oldest !== undefined) this.#gone.delete(oldest)
    this.#tellFollowers(instanceId)
    const relay = this.#relays.get(instanceId)
    if (relay === undefined || relay.pushes.isFollowed) return
    this.#relays.delete(instanceId)
    void relay.pushes.close().then(() => relay.upstream.close())
  }

  /** Who follows a resource of it reads it once more, and is told what became of the instance. */
  #tellFollowers(instanceId: string): void {
    for (const inner of this.#relays.get(instanceId)?.pushes.uris ?? []) {
      this.#parts.updated(outerUri(instanceId, inner) ?? inner)
    }
  }
}

/** For people and models. */
export function labelOf({ record }: InstanceEntry): string {
  const { dccType, displayName, scene } = record
  return [dccType, displayName, scene].filter(Boolean).join(', ')
}

function notNamed(message: string): ServiceError {
  return new ServiceError('resource_uri_invalid', message)
}
